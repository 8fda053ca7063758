# ruff: noqa: T201
"""Plant mistakes one by one and see which no test notices: ``make mutants``.

Each mutant is one replacement in a copy of the source, with the tests that ought to
fail. ``python -m tests.mutants [word ...]`` tries those whose file or text has a word.
A replacement whose text is gone is reported as outdated: move it with the code.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]


class Mutant(NamedTuple):
    file: str
    old: str
    new: str
    tests: str


MUTANTS = [
    # those that outlived the tests of 0.1.0
    Mutant("machines/quadratic_model.py", " high &= ~wrong\n", " pass\n",
           "tests/machines/test_active_set.py"),
    Mutant("selection/calibration.py", "codes == k, weight)", "codes == k, None)",
           "tests/estimators/test_calibration_weights.py"),
    Mutant("comparison/evaluation.py", "self.found.of(self.best, ",
           "self.found.of(0, ", "tests/comparison/test_calibration.py"),
    Mutant("cli/__init__.py", '"kernel", "directions")', '"kernel")',
           "tests/cli/test_repeat.py"),
    # thresholds of judgement: files, names and numbers that newcomers bring
    Mutant("files/hit_columns.py", "falls > 4 * rises", "falls > rises",
           "tests/cli/test_thresholds.py"),
    Mutant("cli/learning.py", "if np.mean(sizes >= 10) > 0.5",
           "if np.mean(sizes >= 10) > 0.9",
           "tests/cli/test_thresholds.py"),
    Mutant("cli/predict.py", "room = 0.5 * (high - low)", "room = 5.0 * (high - low)",
           "tests/cli/test_thresholds.py"),
    Mutant("validation.py", "_FILLED = 0.5", "_FILLED = 0.05",
           "tests/test_forms_of_distances.py"),
    Mutant("numbers_or_classes.py",
           "_PER_NUMBER_IN_DOUBT = 5.0", "_PER_NUMBER_IN_DOUBT = 3.0",
           "tests/test_numbers_or_classes.py"),
    Mutant("files/tables.py", "_FEWEST_RISING = 8", "_FEWEST_RISING = 7",
           "tests/files/test_headers.py"),
    Mutant("files/item_files.py", "_NUMBERS_PER_WORD * len(odd)", "len(odd)",
           "tests/files/test_columns.py"),
    Mutant("cli/predict.py", "measure(true[~known], predicted[~known])",
           "measure(true, predicted)", "tests/cli/test_tables_of_items.py"),
    # methods and transforms
    Mutant("spectrum/fixes.py", "np.where(values > tol, values, 0.0)",
           "np.where(values > tol, values, -values)", "tests/referee"),
    Mutant("spectrum/fixes.py", "return values * values", "return values * abs(values)",
           "tests/referee"),
    Mutant("spectrum/fixes.py", "np.exp(t * values /", "np.expm1(t * values /",
           "tests/referee"),
    Mutant("spectrum/fixed_kernel.py",
           "inner = rescale(self.vectors.T @ left, self.gain)",
           "inner = self.vectors.T @ left", "tests/test_spectrum.py"),
    Mutant("spectrum/fixed_kernel.py", "out += self.shift if self.weight is None else",
           "out += self.shift if True else", "tests/similarity/test_forms.py"),
    Mutant("spectrum/nonpositive.py", "np.nonzero(values <= zero)",
           "np.nonzero(values < -zero)", "tests/similarity/test_forms.py"),
    Mutant("spectrum/decomposition.py", "rest = target - factor * values",
           "rest = target.copy()", "tests/test_spectrum.py"),
    Mutant("spectrum/fixed_kernel.py", "if fits and whole and base",
           "if whole and base", "tests/test_spectrum.py"),
    # states, searches, tie-breaks
    Mutant("similarity/conversions.py",
           "np.flatnonzero(~copies.any(axis=1))", "np.arange(len(D))",
           "tests/estimators/test_equivalences.py"),
    Mutant("machines/cpd_space.py", "energy += 2.0 * np.abs(pull)",
           "energy += 0.0 * np.abs(pull)", "tests/estimators/test_cpd.py"),
    Mutant("machines/tall_svm.py", "a = np.where(outside > 0.0, domain.upper, 0.0)",
           "a = np.where(outside > 0.0, 0.0, domain.upper)",
           "tests/machines/test_tall_svm.py"),
    Mutant("declarations.py", "fresh.__dict__ = without_state(self)",
           "fresh.__dict__ = dict(vars(self))", "tests/estimators/test_refit.py"),
    Mutant("training.py", "votes + total / (3.0", "votes - total / (3.0",
           "tests/estimators/test_cv_results.py"),
    Mutant("selection/scores.py", "mean[np.isfinite(mean)]", "mean[:0]",
           "tests/estimators/test_cv_results.py tests/estimators/test_spectrum_cv.py"),
    Mutant("machines/svm_dual.py", "return gap + float(np.sum(a * total))",
           "return gap", "tests/machines/test_libsvm.py"),
    # domain and problems
    Mutant("machines/box.py", "best + abs(tau * (float(self.y @ a) - self.balance))",
           "best", "tests/test_domain_bounds.py"),
    Mutant("machines/box.py",
           "best = float((self.upper - a) @ grows) + float(a @ falls)",
           "best = float((self.upper - a) @ grows)", "tests/referee"),
    Mutant("machines/box.py", "weights=share", "weights=None",
           "tests/test_domain_bounds.py"),
    Mutant("machines/svm_dual.py", "np.concatenate([t, -t]) - epsilon",
           "np.concatenate([t, -t])", "tests/referee"),
    Mutant("machines/svm_dual.py", "nu * float(upper.sum())", "nu * upper.size",
           "tests/referee"),
    Mutant("machines/logistic.py", "(4.0 if n_columns == 1 else 2.0)", "4.0",
           "tests/referee tests/machines/test_logistic.py"),
    Mutant("machines/logistic.py",
           "worst = max(worst, float((np.abs(A.sum(axis=0)) + spread).max()))", "pass",
           "tests/machines/test_logistic.py tests/machines/test_newton_logistic.py"),
    Mutant("arrays.py", "return outputs, rounding_of_sums(support.size) * size",
           "return outputs, 0.0 * size",
           "tests/estimators/test_cpd.py tests/estimators/test_logistic.py"),
    Mutant("machines/proxy.py", "1.0 - self.spread * self.scale * outputs",
           "1.0 - self.scale * outputs", "tests/machines/test_proxy.py"),
    Mutant("machines/quadrature.py", "kappa = 1.0 - (2.0 / np.pi)",
           "kappa = 1.0 - (1.0 / np.pi)", "tests/machines/test_quadrature.py"),
    Mutant("machines/cpd.py", "f, self.lam * float(c @ image)",
           "f, 0.5 * self.lam * float(c @ image)", "tests/referee"),
    Mutant("machines/cpd_columns.py",
           " rounding_of_sums(n_terms) * sizes", " 0.0 * sizes",
           "tests/machines/test_cpd_columns.py"),
    # solvers
    Mutant("published/difference_of_convex.py", "max(0.0, -float(values[0]))", "0.0",
           "tests/published/test_dc.py"),
    Mutant("machines/_loop.py", "iterate.certificate.relative <= tol",
           "iterate.certificate.relative <= 100 * tol", "tests/machines"),
    # estimators
    Mutant("training.py", "(values[:, 0] > 0)", "(values[:, 0] >= 1e-3)",
           "tests/estimators/test_training.py"),
    Mutant("estimators/_logistic_plan.py", "_MARGIN = 1.05", "_MARGIN = 0.95",
           "tests/referee tests/estimators/test_logistic.py"),
    Mutant("estimators/mkl.py", "w @ (K - views.target) ** 2 @ w for",
           "np.sum((K - views.target) ** 2) for",
           "tests/referee tests/estimators/test_mkl.py"),
    Mutant("validation.py", "not 1e-290 < total < 1e300", "False",
           "tests/fuzz/test_corpus.py"),
    # comparison, diagnosis, splitting
    Mutant("comparison/significance.py", "(1.0 / values.size + test_share)",
           "(1.0 / values.size)", "tests/comparison"),
    Mutant("comparison/significance.py", "(count - np.arange(count))", "count",
           "tests/comparison"),
    Mutant("selection/splitting.py",
           "safe_indexing(columns, part) for part in (train, test)",
           "safe_indexing(columns, part) for part in (train, train)",
           "tests/estimators/test_bad_input.py"),
    # thresholds of judgement
    Mutant("diagnostics/facts.py", "_REPEATED = 3.0", "_REPEATED = 1.0",
           "tests/diagnostics"),
    Mutant("diagnostics/facts.py", "_EDGE_SLACK = 1.1", "_EDGE_SLACK = 2.1",
           "tests/diagnostics"),
    Mutant("validation.py", "_TURNED_ROUND = 6.0", "_TURNED_ROUND = 2.0",
           "tests/diagnostics"),
    Mutant("diagnostics/facts.py",
           "np.min([_ranks(column) for column in values.T], axis=0)\n"
           "    return float(np.mean(smallest <= smallest[0]))",
           "np.array([_ranks(column) for column in values.T])\n"
           "    return float(np.mean(smallest <= smallest[:, :1], axis=1).min())",
           "tests/diagnostics"),
    Mutant("kernels/alignment.py", "_LEAST_LETTERS = 10", "_LEAST_LETTERS = 15",
           "tests/kernels/test_alignment.py"),
    Mutant("kernels/tables.py", "_FEWEST = 10", "_FEWEST = 15",
           "tests/kernels/test_tables.py"),
    Mutant("selection/spectra.py", "SHARE_KEPT = 0.25", "SHARE_KEPT = 0.375",
           "tests/estimators/test_spectrum_cv.py"),
    Mutant("comparison/large.py", "MANY_ITEMS = 5000", "MANY_ITEMS = 7500",
           "tests/comparison/test_many_items.py"),
    Mutant("diagnostics/findings.py",
           "_SILENT_ASYMMETRY = 1e-8", "_SILENT_ASYMMETRY = 1.5e-8",
           "tests/diagnostics/test_thresholds.py"),
    Mutant("validation.py", "_FAITHFUL = 1e-8", "_FAITHFUL = 1.5e-8",
           "tests/diagnostics/test_thresholds.py"),
    Mutant("machines/mkl.py", "_NOT_PSD = 1e-8", "_NOT_PSD = 1.5e-8",
           "tests/estimators/test_mkl.py"),
    Mutant("files/cells.py", "_LONGEST_QUOTE = 1000", "_LONGEST_QUOTE = 1500",
           "tests/files/test_tables.py"),
    # verdicts and their words
    Mutant("comparison/contenders.py",
           'params={"method": "none", "tol": 1e-3, "max_iter": 200_000},\n'
           "        pairs=True,",
           'params={"method": "none", "tol": 1e-3, "max_iter": 200_000,\n'
           '                "multi_class": "ovo"},',
           "tests/comparison/test_sentences.py"),
    Mutant("verdicts/sentences.py", "verdict is Verdict.NOT_TOLD_APART and highest",
           "highest", "tests/comparison/test_sentences.py"),
    Mutant("comparison/recommendation.py", '_FIXED = ("clip", "flip")',
           '_FIXED = ("average", "square", "clip", "flip")',
           "tests/comparison/test_sentences.py"),
    Mutant("comparison/recommendation.py",
           "if baseline.p_value is not None and baseline.p_value > LEVEL",
           "if False", "tests/comparison/test_sentences.py"),
    Mutant("comparison/kernel_comparison.py", "equal_kernels=(kernel, *equal)",
           "equals=(kernel, *equal)", "tests/comparison/test_sentences.py"),
    Mutant("diagnostics/facts.py", "(sizes.sum() or 1.0)",
           "(sizes[scaled > 0].sum() or 1.0)", "tests/diagnostics"),
    # kernels
    Mutant("kernels/alignment.py", "int(gap_open) + int(gap_extend), int(gap_extend)",
           "int(gap_open), int(gap_extend)", "tests/kernels/test_objects.py"),
    Mutant("similarity/conversions.py", "np.exp(-gamma * D**2)", "np.exp(-gamma * D)",
           "tests/kernels"),
    # files and stores
    Mutant("store/files.py",
           "            left.unlink(missing_ok=True)\n        yield\n",
           "            left.unlink(missing_ok=True)\n        yield\n"
           "    (folder / LOCK).unlink(missing_ok=True)\n",
           "tests/store/test_lock.py"),
    Mutant("store/blocks.py", "digest == self._digest(block, numbers)", "True",
           "tests/store/test_blocks.py"),
    Mutant("store/files.py", "os.replace(temporary, path)",
           "__import__('shutil').copyfile(temporary, path)", "tests/store"),
    Mutant("validation.py", "if worst > rtol * largest:", "if worst > 0.1 * largest:",
           "tests/estimators/test_bad_input.py tests/test_validation.py"),
    Mutant("validation.py", "if is_missing(value):", "if False:",
           "tests/fuzz/test_corpus.py"),
    # the referee itself
    Mutant("referee/claims.py", "bound * (1 + _LAST_DIGITS) + slack",
           "2 * bound + slack", "tests/referee/test_referee.py"),
    Mutant("referee/claims.py", "largest = tol * (1 + _SAME_TOLERANCE)",
           "largest = 100 * tol * (1 + _SAME_TOLERANCE)",
           "tests/referee/test_last_digits.py"),
    Mutant("referee/claims.py", "self.objective.digits + claim.certificate.value",
           "np.inf", "tests/referee/test_last_digits.py"),
    Mutant("referee/box.py", "_FEASIBLE = 1e-9", "_FEASIBLE = 1e-1",
           "tests/referee/test_referee.py"),
    Mutant("referee/box.py", "fine = abs(b - own) <= allowed",
           "fine = abs(b - own) <= allowed + 1e-2 * size",
           "tests/referee/test_intercepts.py"),
    Mutant("referee/kernel.py", "np.all(off <= self._map_rounding() + 1e-300)",
           "np.all(off <= 1e15 * self._map_rounding() + 1e-300)",
           "tests/referee/test_referee.py"),
    Mutant("referee/kernel.py", "eigenvalues.size * EPS * float(np.abs(eigenvalues)",
           "4.0 * eigenvalues.size * EPS * float(np.abs(eigenvalues)",
           "tests/referee/test_last_digits.py"),
    Mutant("referee/kernel.py", "share <= _WRONG_SIDE", "share <= 1e6 * _WRONG_SIDE",
           "tests/referee/test_what_predicts.py"),
    Mutant("referee/prediction.py", "not np.any(weightless)", "True",
           "tests/referee/test_what_predicts.py"),
    Mutant("referee/fitted.py", "            raise ValueError(\n"
           '                f"{type(self.model).__name__} has no {name}',
           "            return 1.0\n            raise ValueError(\n"
           '                f"{type(self.model).__name__} has no {name}',
           "tests/referee/test_last_digits.py"),
    Mutant("referee/cpd.py", "inside = unit_columns(P[J])", "inside = P[J]",
           "tests/referee/test_last_digits.py"),
    Mutant("referee/digits.py", "error = error + a_lower * b_upper", "error += 0",
           "tests/referee/test_digits.py"),
    # files
    Mutant("files/tables.py", 'comma = mark != "," and', "comma =",
           "tests/files/test_tables.py"),
    Mutant("files/item_files.py", 'return mark != "," and', "return",
           "tests/files/test_tables.py"),
    Mutant("files/cells.py", 'if ".tsv" in suffixes[-2:] and', "if False and",
           "tests/files/test_tables.py"),
    Mutant("files/hit_columns.py", "return falls >= _FEWEST and", "return False and",
           "tests/first_hour/test_newcomers_files.py"),
    Mutant("files/square.py", "np.count_nonzero(given) != len(numbers)", "False",
           "tests/files/test_fast_paths.py tests/files/test_binary.py"),
    Mutant("files/item_files.py", ".translate(None, _LETTERS)", "[:0]",
           "tests/files/test_fast_paths.py"),
    Mutant("words.py", "\\x7f-\\x9f", "\\x7f",
           "tests/first_hour/test_newcomers_files.py"),
    Mutant("store/files.py", "if path.is_symlink():", "if False:",
           "tests/store/test_files.py"),
]  # fmt: skip


def outcome_of(mutant, folder):
    """What the tests say with the mistake in.

    A test that fails has caught it. A test file that is missing or cannot be imported
    has caught nothing.
    """
    path = folder / "src" / "krein" / mutant.file
    text = path.read_text("utf-8") if path.exists() else ""
    if mutant.old not in text:
        return "OUTDATED"
    path.write_text(text.replace(mutant.old, mutant.new, 1), "utf-8")
    command = ["-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [sys.executable, *command, *mutant.tests.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        check=False,
    )
    path.write_text(text, "utf-8")
    if ended.returncode == 0:
        return "SURVIVES"
    failed = ended.returncode == 1 and b" failed" in ended.stdout.splitlines()[-1]
    return "caught" if failed else "NO TEST"


def main():
    words = sys.argv[1:]
    chosen = [m for m in MUTANTS if not words or any(w in str(m) for w in words)]
    outcomes = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("src", "tests", "pyproject.toml", "docs", "README.md"):
            source = REPOSITORY / part
            copy = shutil.copytree if source.is_dir() else shutil.copyfile
            copy(source, folder / part)
        for mutant in chosen:
            outcomes.append(outcome_of(mutant, folder))
            text = " ".join(mutant.old.split())
            print(f"{outcomes[-1]:9} {mutant.file}: {text}", flush=True)
    bad = ("SURVIVES", "OUTDATED", "NO TEST")
    counts = {word: outcomes.count(word) for word in bad}
    print(
        f"{outcomes.count('caught')} of {len(chosen)} mutants caught, "
        f"{counts['SURVIVES']} survive, {counts['OUTDATED']} outdated, "
        f"{counts['NO TEST']} without a test that runs"
    )
    sys.exit(any(counts.values()))


if __name__ == "__main__":
    main()
