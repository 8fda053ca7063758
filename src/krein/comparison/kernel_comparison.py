"""Several kernels on the same splits, each with the contender recommended for it."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from krein.comparison.comparison import Comparison
from krein.comparison.recommendation import Recommendation
from krein.comparison.significance import holm
from krein.comparison.text_table import LONGEST_REPR, aligned, shorten
from krein.verdicts.reasons import LEVEL, OtherKernel, Verdict
from krein.verdicts.sentences import say
from krein.words import import_optional


@dataclass(frozen=True, repr=False)
class KernelComparison:
    """Comparisons of several kernels on the same splits.

    Attributes
    ----------
    comparisons : dict of str to Comparison
        By kernel, in the order given.

    Examples
    --------
    >>> from krein import compare
    >>> words = ["kernel", "kernels", "colonel", "krein", "krien", "kreins"] * 2
    >>> y = ["k", "k", "k", "r", "r", "r"] * 2
    >>> found = compare(words, y, ["edit", "jaro_winkler"], ["clip"], cv=2)
    >>> sorted(found.comparisons), len(found.table())
    (['edit', 'jaro_winkler'], 2)
    """

    comparisons: dict[str, Comparison]

    @cached_property
    def chosen(self) -> dict[str, str]:
        """The method that is recommended for each kernel."""
        return {
            k: found.recommendation.contender for k, found in self.comparisons.items()
        }

    @cached_property
    def ranking(self) -> list[str]:
        """Kernels, the highest mean of their recommended methods first."""
        mean = {k: self.comparisons[k].mean(m) for k, m in self.chosen.items()}
        return sorted(mean, key=lambda kernel: -mean[kernel])

    @property
    def best(self) -> tuple[str, str]:
        """Kernel and method of the highest mean among the recommended ones."""
        return self.ranking[0], self.chosen[self.ranking[0]]

    def table(self) -> list[dict[str, Any]]:
        """Return the rows of all comparisons, each with its kernel, best first."""
        rows = [
            {"kernel": kernel, **row}
            for kernel, comparison in self.comparisons.items()
            for row in comparison.table()
        ]
        column = self.comparisons[self.ranking[0]].deciding
        return sorted(rows, key=lambda row: -column.sign * row[column.key])

    @cached_property
    def recommendation(self) -> Recommendation:
        """Which kernel and method to use, and the reasons as records and in words.

        `equals` holds methods of the recommended kernel, `equal_kernels` kernels.
        """
        kernel, method = self.best
        comparison = self.comparisons[kernel]
        answer = comparison.recommendation
        others = self.ranking[1:]
        if not others:
            return answer
        if not answer.useful:
            return replace(answer, kernel=kernel, equal_kernels=(kernel,))
        compared = [(self.chosen[other], self.comparisons[other]) for other in others]
        p_values = holm([comparison.p_value(method, *pair) for pair in compared])
        reasons = tuple(
            OtherKernel(other, m, found.shown_value(m), p)
            for other, (m, found), p in zip(others, compared, p_values, strict=True)
        )
        equal = tuple(reason.kernel for reason in reasons if reason.p_value > LEVEL)
        clear = not equal and answer.verdict is Verdict.CLEAR
        return replace(
            answer,
            verdict=Verdict.CLEAR if clear else Verdict.NOT_TOLD_APART,
            reasons=answer.reasons + reasons,
            kernel=kernel,
            equal_kernels=(kernel, *equal),
        )

    @property
    def about_p(self) -> str:
        """What the p-values of the table mean: each kernel has its own reference."""
        found = self.comparisons[self.ranking[0]]
        if len(self.comparisons) < 2 or not found.can_differ:
            return found.about_p
        return f"{found.about_p} {say('p, kernels')}"

    @cached_property
    def about_best(self) -> str:
        """How much of the best score of all kernels and methods is luck."""
        first, *others = sorted(
            self.comparisons.values(), key=lambda found: -found.mean(found.best)
        )
        return first.about_best_of(others)

    def fit_best(self) -> Any:
        """Fit the recommended method with the recommended kernel on all items.

        Returns
        -------
        estimator
        """
        kernel, method = self.best
        return self.comparisons[kernel].fit_best(method)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, indexed by kernel and method.

        Returns
        -------
        pandas.DataFrame
        """
        pandas = import_optional("pandas", extra=None, needed_for="to_frame()")
        return pandas.DataFrame(self.table()).set_index(["kernel", "method"])

    def __repr__(self) -> str:
        column = self.comparisons[self.ranking[0]].deciding
        rows = [["kernel", "method", column.title]]
        rows += [[r["kernel"], r["title"], column.show(r)] for r in self.table()]
        return shorten(aligned(rows, left=2), LONGEST_REPR)

    def __str__(self) -> str:
        parts = [f"{name}:\n{found}" for name, found in self.comparisons.items()]
        return "\n\n".join([*parts, self.recommendation.text])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"
