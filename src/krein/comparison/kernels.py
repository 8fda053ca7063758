"""Several similarities of the same items, on the same splits.

The choice of the similarity often decides more than what is done about its spectrum.
Each kernel is compared as if it were alone; distances are computed once per kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sklearn.ensemble import VotingClassifier

from krein.arrays import Array
from krein.comparison.comparison import Comparison
from krein.comparison.recommendation import LEVEL, Recommendation, beats
from krein.comparison.scores import corrected_test, holm
from krein.estimators.spectrum_cv import SpectrumSVCCV
from krein.optional import import_optional

__all__ = ["KernelComparison"]


@dataclass(frozen=True)
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

    @property
    def _first(self) -> Comparison:
        """Any of them: splits and columns are the same."""
        return next(iter(self.comparisons.values()))

    @cached_property
    def ranking(self) -> list[str]:
        """Kernels, the highest mean of their recommended methods first."""
        return sorted(self.comparisons, key=lambda name: -self._mean(name))

    def _mean(self, kernel: str) -> float:
        return float(self._scores(kernel).mean())

    @property
    def best(self) -> tuple[str, str]:
        """Kernel and method of the highest mean among the recommended ones."""
        kernel = self.ranking[0]
        return kernel, self.comparisons[kernel].recommendation.method

    @cached_property
    def near(self) -> list[str]:
        """Kernels that the best one does not beat by more than one standard error."""
        own, share = self._scores(self.ranking[0]), self._first.test_share
        return [k for k in self.ranking if not beats(own, self._scores(k), share)]

    def _scores(self, kernel: str) -> Array:
        comparison = self.comparisons[kernel]
        return comparison.scores(comparison.recommendation.method)

    def table(self) -> list[dict[str, Any]]:
        """Return the rows of all comparisons, each with its kernel, best first."""
        rows = [
            {"kernel": kernel, **row}
            for kernel, comparison in self.comparisons.items()
            for row in comparison.table()
        ]
        column = self._first.deciding
        sign = -1.0 if column.larger_is_better else 1.0
        return sorted(rows, key=lambda row: sign * row[column.key])

    @cached_property
    def recommendation(self) -> Recommendation:
        """Which kernel and method to use, in words."""
        kernel, method = self.best
        comparison = self.comparisons[kernel]
        if len(self.ranking) == 1:
            return comparison.recommendation
        others = self.ranking[1:]
        p_values = holm([self._p_value(kernel, other) for other in others])
        against = ", ".join(
            f"{other} {abs(self._mean(other)):.3f} (p = {p:.2g})"
            for other, p in zip(others, p_values, strict=True)
        )
        equals = [o for o, p in zip(others, p_values, strict=True) if p > LEVEL]
        text = (
            f"Use {kernel} with {comparison.title(method)}: mean "
            f"{comparison.deciding.title} {abs(self._mean(kernel)):.3f} over "
            f"{len(comparison.splits)} splits, against {against}."
        )
        near = [k for k in equals if k in self.near]
        if near:
            text += f" {', '.join(near)} {'do' if near[1:] else 'does'} as well."
        if equals != near:
            lower = ", ".join(k for k in equals if k not in near)
            text += f" These data cannot tell it from {lower}."
        if len(self.near) > 1 and comparison.task == "classification":
            text += f" fit_average() takes the mean of {', '.join(self.near)}."
        return Recommendation(method, not equals, (kernel, *equals), text)

    def _p_value(self, kernel: str, other: str) -> float:
        """Test of two kernels, each with its method; over items where that is known."""
        first, second = self.comparisons[kernel], self.comparisons[other]
        names = first.recommendation.method, second.recommendation.method
        mine, theirs = first.item_scores(names[0]), second.item_scores(names[1])
        if mine is None or theirs is None:
            scores = self._scores(kernel), self._scores(other)
            return corrected_test(*scores, first.test_share)[1]
        skill = 0.5 * (first.skill(names[0]) + second.skill(names[1]))
        return first.item_p_value(mine - theirs, skill)

    def fit_best(self) -> Any:
        """Fit the recommended method with the recommended kernel on all items.

        Returns
        -------
        estimator
        """
        kernel, method = self.best
        return self.comparisons[kernel].fit_best(method)

    def fit_average(self) -> Any:
        """Fit `SpectrumSVCCV` with each of the `near` kernels on all items.

        Returns
        -------
        sklearn.ensemble.VotingClassifier
            Its probabilities are the means over the kernels.
        """
        first = self._first.problem
        if first.kernel is None or first.task != "classification":
            raise ValueError("fit_average() needs classes, and kernels on items")
        models = [
            (name, SpectrumSVCCV(kernel=self.comparisons[name].problem.kernel))
            for name in self.near
        ]
        return VotingClassifier(models, voting="soft").fit(first.items, first.labels)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, indexed by kernel and method.

        Returns
        -------
        pandas.DataFrame
        """
        pandas = import_optional("pandas", extra="test", needed_for="to_frame()")
        return pandas.DataFrame(self.table()).set_index(["kernel", "method"])

    def __str__(self) -> str:
        parts = [f"{name}:\n{found}" for name, found in self.comparisons.items()]
        return "\n\n".join([*parts, self.recommendation.text])
