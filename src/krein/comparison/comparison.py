"""The outcome of `compare`: a table, tests of differences, and words."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from krein.arrays import Array
from krein.comparison import significance
from krein.comparison.baselines import free_item_scores, free_scores
from krein.comparison.columns import Column
from krein.comparison.contender import Contender
from krein.comparison.contenders import TASKS
from krein.comparison.evaluation import fit_method
from krein.comparison.item_scores import ItemScores
from krein.comparison.problem import Problem
from krein.comparison.recommendation import (
    Recommendation,
    choose_contender,
    pairs_to_test,
    recommend,
)
from krein.comparison.text_table import LONGEST_REPR, aligned, shorten
from krein.selection.folds import Fold
from krein.spectrum.decomposition import Spectrum
from krein.verdicts.reasons import Why
from krein.verdicts.sentences import say
from krein.words import import_optional

_EXACT_UP_TO = 5000  # items; of more the eigenvalues are not computed


@dataclass(frozen=True, repr=False)
class Comparison:
    """Scores of several methods on the same splits; prints as a table.

    Attributes
    ----------
    records : tuple of dict
        One per method and split: scores, seconds, chosen parameters, predictions.
    methods : tuple of str
        What was compared.
    scoring : str
        The score that decided.
    problem : Problem
        The data.
    splits : tuple of (train, test)
        Index pairs.
    random_state : int
        Seed of the splits.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import compare, sigmoid_kernel
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> comparison = compare(sigmoid_kernel(X), X[:, 0] > 0, methods=["clip", "flip"])
    >>> comparison.best in comparison.completed
    True
    """

    records: tuple[dict[str, Any], ...]
    methods: tuple[str, ...]
    scoring: str
    problem: Problem
    splits: tuple[Fold, ...]
    random_state: int = 0

    @property
    def task(self) -> str:
        """Classification or regression."""
        return self.problem.task

    @property
    def registry(self) -> dict[str, Contender]:
        """The methods of the task by name."""
        return TASKS[self.task].methods

    def title(self, method: str) -> str:
        """What a method is called in tables."""
        return self.registry[method].title

    @cached_property
    def score_columns(self) -> dict[str, Column]:
        """Columns of scores by the name of the scoring."""
        return {c.scoring: c for c in TASKS[self.task].columns if c.scoring}

    @property
    def deciding(self) -> Column:
        """The column of the score that decides."""
        return self.score_columns[self.scoring]

    @property
    def about_p(self) -> str:
        """What the p-values mean, or why there are none."""
        if not self.can_differ:
            return say("p, none")
        return say("p, items" if self.by_items else "p, splits")

    @property
    def about_intervals(self) -> str:
        """What the intervals are, or why there are none."""
        return say("intervals" if len(self.splits) > 1 else "intervals, none")

    @property
    def of_hits(self) -> bool:
        """Whether the similarity is sparse, as a table of hits is."""
        return scipy.sparse.issparse(self.problem.K)

    @cached_property
    def levels(self) -> list[tuple[str, float]]:
        """Scores that cost nothing, such as that of the largest class."""
        return free_scores(self.scoring, self.problem.codes, self.splits)

    def of(self, method: str) -> list[dict[str, Any]]:
        """Return the records of one method, by split."""
        return [record for record in self.records if record["method"] == method]

    @cached_property
    def failed(self) -> dict[str, str]:
        """Methods that failed on some split, with the first reason."""
        records = [record for record in reversed(self.records) if "error" in record]
        return {record["method"]: record["error"] for record in records}

    @property
    def completed(self) -> list[str]:
        """Methods with a score on every split."""
        return [name for name in self.methods if name not in self.failed]

    def scores(self, method: str, score: str | None = None) -> Array:
        """Return one score per split."""
        score = score or self.scoring
        return np.array([record["scores"][score] for record in self.of(method)])

    def mean(self, method: str) -> float:
        """Return the mean of the deciding score; larger is better."""
        return float(self.scores(method).mean())

    def shown_value(self, method: str) -> float:
        """The mean of the deciding score as people read it: errors are not negative."""
        return self.deciding.sign * self.mean(method)

    def shown(self, method: str) -> str:
        """The same with three digits."""
        return f"{self.shown_value(method):.3f}"

    @property
    def test_share(self) -> float:
        """n_test / n_train, which the corrected test needs."""
        return self._items.test_share

    @cached_property
    def ranking(self) -> list[str]:
        """Completed methods, the highest mean score first; of equals the simplest."""
        simple = {m: self.registry[m].simplicity for m in self.completed}
        return sorted(simple, key=lambda m: (-round(self.mean(m), 12), simple[m]))

    @property
    def best(self) -> str:
        """The method of the highest mean score (see `recommendation` for its worth)."""
        if not self.ranking:
            reasons = "; ".join(f"{m}: {why}" for m, why in self.failed.items())
            raise ValueError(f"no method completed every split: {reasons}")
        return self.ranking[0]

    @cached_property
    def chosen(self) -> tuple[str, Why]:
        """The method to recommend, and the rule that chose it."""
        return choose_contender(self)

    @cached_property
    def _adjusted(self) -> dict[frozenset[str], float]:
        """P-values of all pairs that anything is said about, adjusted together."""
        pairs = pairs_to_test(self, self.chosen[0])
        adjusted = significance.holm([self.p_value(*pair) for pair in pairs])
        return dict(zip(map(frozenset, pairs), adjusted, strict=True))

    def adjusted_p_value(self, a: str, b: str) -> float:
        """Test of two methods, adjusted by Holm for all that is tested here.

        One of them is the recommended one, or a fix of the raw similarity.
        """
        return self._adjusted[frozenset((a, b))]

    @cached_property
    def p_values(self) -> dict[str, float]:
        """Of the difference to the recommended method, adjusted for many tests."""
        chosen = self.chosen[0]
        others = [method for method in self.ranking if method != chosen]
        return {chosen: 1.0} | {m: self.adjusted_p_value(chosen, m) for m in others}

    def p_value(self, a: str, b: str, other: Any = None) -> float:
        """Test of two methods, the second one perhaps of another comparison.

        Over items where the score is a mean over items, otherwise over splits, of
        which there have to be a few: else it is 1. Not adjusted for other tests.
        """
        other = other or self
        mine = self.item_scores(a)
        theirs = other.item_scores(b)
        if mine is None or theirs is None:
            if len(self.splits) < significance.FEWEST_SPLITS:
                return 1.0
            scores = self.scores(a), other.scores(b)
            return significance.corrected_test(*scores, self.test_share)[1]
        skill = 0.5 * (self.skill(a) + other.skill(b))
        return self._item_test(mine - theirs, skill)[1]

    def corrected_best(self, others: Sequence[Comparison] = ()) -> float | None:
        """Mean score of the highest method without the optimism of choosing it.

        Larger is better, as in `mean`; None where the score is no mean over items.

        Parameters
        ----------
        others : sequence of Comparison
            Of other kernels on the same splits, whose methods could have been the
            highest as well.
        """
        tables = [found._by_item() for found in (self, *others)]
        known = [table for table in tables if table is not None]
        if not known or len(known) < len(tables):
            return None
        table = np.concatenate(known)
        tested = np.asarray(~np.isnan(table).any(axis=0))
        design = self._items.design(tested)
        values = table[:, tested]
        weight = design["weight"]
        corrected = significance.corrected_maximum(values, weight, design["groups"])
        # R^2 of all items is not the mean of the splits: what is taken over is by how
        # much the best score flatters, and that is never less than nothing.
        optimism = max(0.0, float((values @ weight).max()) - corrected)
        return self.mean(self.best) - optimism

    def _by_item(self) -> Array | None:
        """Scores of all completed methods on each item, a row a method."""
        items = [self.item_scores(method) for method in self.ranking]
        known = [one for one in items if one is not None]
        if not known or len(known) < len(items):
            return None
        table = np.array(known)
        if self.scoring == "r2":  # minus squared errors, in units of the variance
            table = 1.0 + table / float(np.var(self.problem.codes))
        return table

    @cached_property
    def about_best(self) -> str:
        """How much of the best score is luck, where there was a choice."""
        return self.about_best_of(())

    def about_best_of(self, others: Sequence[Comparison]) -> str:
        """The same for the best score of this and other kernels, which is here."""
        number = sum(len(found.ranking) for found in (self, *others))
        corrected = self.corrected_best(others) if number > 1 else None
        if corrected is None:
            return ""
        return say(
            "optimism",
            number=number,
            score=self.deciding.title,
            best=self.shown(self.best),
            corrected=f"{self.deciding.sign * corrected:.3f}",
        )

    def p_value_against_free(self, method: str) -> float | None:
        """One-sided test that a method beats the best answer that costs nothing.

        None where a single split of such a score allows no test.
        """
        free = max(self.deciding.sign * value for _, value in self.levels)
        items = self.item_scores(method)
        if items is None and len(self.splits) < 2:
            return None
        if items is None:
            baseline = np.full(len(self.splits), free)
            test = significance.corrected_test(
                self.scores(method), baseline, self.test_share
            )
            return significance.one_sided(*test)
        if self.scoring not in ("accuracy", "balanced_accuracy"):
            codes = self.problem.codes
            splits = self.splits
            baseline = free_item_scores(self.scoring, codes, splits)
            return significance.one_sided(*self._item_test(items - baseline))
        items, design = self._tested(items)
        return significance.rate_test(items, free, **design)

    def _item_test(self, differences: Array, skill: float = 0.0) -> tuple[float, float]:
        """Mean and p-value of differences per item."""
        values, design = self._tested(differences)
        return significance.item_test(values, **design, skill=skill)

    def _tested(self, values: Array) -> tuple[Array, dict[str, Any]]:
        """Values of the items that were tested, and how they were."""
        tested = ~np.isnan(values)
        return values[tested], self._items.design(tested)

    def skill(self, method: str) -> float:
        """Which part of the mistakes of a free answer a method avoids."""
        sign = self.deciding.sign
        free = sign * max(value for _, value in self.levels)
        perfect = max(sign, 0.0)
        return (self.mean(method) - free) / (perfect - free) if free < perfect else 0.0

    @property
    def by_items(self) -> bool:
        """Whether the test over items decides."""
        return self.item_scores(self.best) is not None

    @property
    def can_differ(self) -> bool:
        """Whether p-values can be small: not over a few splits."""
        return self.by_items or len(self.splits) >= significance.FEWEST_SPLITS

    @cached_property
    def _items(self) -> ItemScores:
        return ItemScores(self.problem, self.splits, self.scoring)

    def item_scores(self, method: str) -> Array | None:
        """Share of its tests in which each item was recognised; minus its error, loss.

        NaN for items that were never tested; None where items do not add up.
        """
        return self._items.of(self.of(method))

    def table(self) -> list[dict[str, Any]]:
        """Return one row of plain values per completed method, best first."""
        return [self._row(name) for name in self.ranking]

    def _row(self, name: str) -> dict[str, Any]:
        records = self.of(name)
        row: dict[str, Any] = {"method": name, "title": self.title(name)}
        for score, column in self.score_columns.items():
            row[column.key] = float(column.sign * self.scores(name, score).mean())
            row[f"{column.key}_interval"] = self.interval(name, score)
        row["p_value"] = self.p_values[name]
        for key in ("fit_seconds", "predict_seconds"):
            row[key] = float(np.median([r[key] for r in records]))
        row["search_seconds"] = float(sum(r["search_seconds"] for r in records))
        row["converged"] = float(np.mean([r["converged"] for r in records]))
        return row

    def interval(self, method: str, score: str | None = None) -> list[float] | None:
        """95 % interval of a mean score, as people read it; None of a single split.

        Accuracies: Wilson's over items. Other scores: over splits, corrected for
        overlapping training sets.
        """
        if len(self.splits) < 2:
            return None
        score = score or self.scoring
        column = self.score_columns[score]
        if score in ("accuracy", "balanced_accuracy"):
            return self._rate_interval(method, by_class=score == "balanced_accuracy")
        values = column.sign * self.scores(method, score)
        share = self.test_share
        bounds = column.bounds
        low, high = significance.score_interval(values, share, bounds)
        if score == "roc_auc":  # as many items as the smallest class has
            size = float(np.bincount(self.problem.codes).min())
            own = significance.wilson(float(values.mean()), size)
            low = min(low, own[0])
            high = max(high, own[1])
        return [low, high]

    def _rate_interval(self, method: str, by_class: bool) -> list[float]:
        """Of the rate at which items are recognised, over all or class by class."""
        right = self._items.recognised(self.of(method))
        values, design = self._tested(right)
        del design["weight"]
        tested = ~np.isnan(right)
        strata = self.problem.codes[tested] if by_class else None
        return list(significance.rate_interval(values, strata, **design))

    def confusion(self, method: str) -> np.ndarray:
        """Return counts (true class, predicted class); of numbers an empty table."""
        n = self.problem.classes.size
        counts = np.zeros((n, n), dtype=int)
        for record in self.of(method) if n else []:
            test = self.splits[record["split"]][1]
            np.add.at(counts, (self.problem.codes[test], record["predicted"]), 1)
        return counts

    @cached_property
    def recommendation(self) -> Recommendation:
        """Which method to use, and the reasons as records and in words."""
        return recommend(self)

    @cached_property
    def indefinite(self) -> bool:
        """Whether the similarity has negative eigenvalues beyond rounding."""
        n = self.problem.codes.size
        if n > _EXACT_UP_TO:
            return True  # not known; the diagnosis of large matrices is an estimate
        return not Spectrum.exact(self.problem.matrix().dense()).is_psd

    def __repr__(self) -> str:
        lines = self._table_lines()
        return shorten(lines, LONGEST_REPR)

    def __str__(self) -> str:
        return "\n".join([*self._table_lines(), "", self.recommendation.text])

    def _table_lines(self) -> list[str]:
        """The table for people, then what failed."""
        failed = [say("failed", name=m, why=why) for m, why in self.failed.items()]
        if not self.ranking:
            return failed or [say("nothing completed")]
        columns = self.columns
        rows = [["method", *(column.title for column in columns)]]
        rows += [[r["title"], *(c.show(r) for c in columns)] for r in self.table()]
        return [*aligned(rows), *failed]

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    @property
    def columns(self) -> list[Column]:
        """Columns of a table for people."""
        hidden = () if self.can_differ else ("p_value",)
        columns = TASKS[self.task].columns
        return [c for c in columns if c.shown and c.key not in hidden]

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, indexed by method.

        Returns
        -------
        pandas.DataFrame
        """
        pandas = import_optional("pandas", extra=None, needed_for="to_frame()")
        return pandas.DataFrame(self.table()).set_index("method")

    def plot(self, ax: Any = None) -> Any:
        """Draw mean scores with their intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; made when not given.

        Returns
        -------
        matplotlib Axes
        """
        from krein.plotting import plot_intervals

        column = self.deciding
        return plot_intervals(self.table(), column.key, column.title, ax=ax)

    def to_html(
        self,
        path: str | Path,
        *,
        force: bool = False,
        title: str = "Comparison",
        about: str = "",
        command: str = "",
        names: Sequence[str] | None = None,
        diagnosis: Any = None,
        findings: Sequence[dict[str, Any]] | None = None,
        source: Mapping[str, Any] | None = None,
        finding: str = "",
    ) -> Path:
        """Write the report: one self-contained page.

        Parameters
        ----------
        path : str or Path
            Where to write.
        force : bool
            Replace an existing file.
        title, about : str
            Heading of the page, and where the similarity comes from.
        command : str
            The command that repeats the run.
        names : sequence of str, optional
            Names of the items.
        diagnosis, findings : Diagnosis, sequence of dict, optional
            Of the similarity, if they are known already.
        source : mapping, optional
            Where the data come from, for the lines to copy.
        finding : str
            What stands below the heading instead of the headline.

        Returns
        -------
        Path
        """
        from krein.report import write_report

        return write_report(
            self,
            path,
            force=force,
            title=title,
            about=about,
            command=command,
            names=names,
            diagnosis=diagnosis,
            findings=findings,
            source=source,
            finding=finding,
        )

    def fit_best(self, method: str | None = None) -> Any:
        """Fit the recommended method (or the one named) on all data.

        Parameters
        ----------
        method : str, optional
            One of `methods`.

        Returns
        -------
        estimator
            Fitted; on the items where a kernel was given, on the matrix otherwise.
        """
        name = method or self.recommendation.contender
        return fit_method(self.problem, name, self.scoring, self.random_state)
