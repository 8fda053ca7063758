"""The page of results, written from docs/guide/results.csv alone.

    python benchmarks/results_page.py

Writes the tables between the marks of docs/guide/results.md, and the diagram of ranks,
docs/guide/ranks.svg. `benchmarks/regret.py` measures the CSV: a row for each
similarity, a column for each strategy with its error in percent, and a column with its
processor seconds.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, studentized_range

GUIDE = Path(__file__).parents[1] / "docs" / "guide"
FIXED = ("svc", "clip", "flip", "square", "shift", "krein", "neighbors", "features",
         "random_objects")  # fmt: skip
CHOSEN = ("average", "best", "recommended", "converted")
STRATEGIES = (*FIXED, *CHOSEN)
TITLES = {
    "svc": "SVC on the raw matrix",
    "clip": "clip",
    "flip": "flip",
    "square": "square",
    "shift": "shift",
    "krein": "KreinSVC",
    "neighbors": "nearest neighbours",
    "features": "rows as features",
    "random_objects": "random objects (D2KE)",
    "average": "SpectrumSVCCV()",
    "best": 'SpectrumSVCCV(combine="best")',
    "recommended": "what compare recommends",
    "converted": "SpectrumSVCCV() on distances",
}
LEVEL = 0.05
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
BLUE, GREY = "#2b6cb0", "#4a5568"


def read(path=GUIDE / "results.csv"):
    """Return rows of text, errors and seconds (similarities x strategies)."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    errors = [[float(row[s]) for s in STRATEGIES] for row in rows]
    seconds = [[float(row[f"{s} seconds"]) for s in STRATEGIES] for row in rows]
    return rows, np.array(errors), np.array(seconds)


# ------------------------------------------------------------------------------ ranks


def data_set_ranks(rows, errors):
    """Ranks of the strategies on each data set, averaged over its similarities.

    Similarities made from one data set are not independent, so data sets are counted.
    """
    ranks = np.apply_along_axis(rankdata, 1, errors)
    names = np.array([row["similarity"].split(",")[0] for row in rows])
    return np.array([ranks[names == name].mean(axis=0) for name in np.unique(names)])


def critical_difference(strategies, data_sets):
    """Nemenyi: mean ranks that differ by less cannot be told apart."""
    q = studentized_range.ppf(1 - LEVEL, strategies, np.inf) / np.sqrt(2)
    return q * np.sqrt(strategies * (strategies + 1) / (6 * data_sets))


def groups(ranks, difference):
    """Longest runs (first, last) of sorted ranks within the critical difference."""
    found = []
    for first, start in enumerate(ranks):
        last = int(np.searchsorted(ranks, start + difference, side="right")) - 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def draw(rows, errors, path=GUIDE / "ranks.svg"):
    """Critical-difference diagram: the best strategies at the left."""
    import matplotlib.pyplot as plt

    plt.switch_backend("svg")
    plt.rcParams.update({"svg.hashsalt": "krein", "font.size": 10})
    plt.rcParams["svg.fonttype"] = "none"  # words stay words
    by_data = data_set_ranks(rows, errors)
    difference = critical_difference(*by_data.shape[::-1])
    means = by_data.mean(axis=0)
    order = np.argsort(means)
    ranks, half = means[order], (len(order) + 1) // 2
    low, high = np.floor(ranks[0]), np.ceil(ranks[-1])
    bars = groups(ranks, difference)
    figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
    for place, (strategy, rank) in enumerate(zip(order, ranks, strict=True)):
        left = place < half
        y = -len(bars) * 0.35 - 1 - (place if left else len(order) - 1 - place) * 0.6
        edge = low - 0.15 if left else high + 0.15
        name = TITLES[STRATEGIES[strategy]]
        colour = BLUE if STRATEGIES[strategy] in CHOSEN else GREY
        ax.plot([rank, rank, edge], [0, y, y], color=colour, linewidth=1)
        words = f"{name}   {rank:.1f}" if left else f"{rank:.1f}   {name}"
        side = {"ha": "right" if left else "left", "va": "center"}
        ax.text(edge + (-0.06 if left else 0.06), y, words, color=colour, **side)
    for level, (first, last) in enumerate(bars):
        ends = [ranks[first] - 0.04, ranks[last] + 0.04]
        ax.plot(ends, [-0.35 * (level + 1)] * 2, color="black", linewidth=3)
    ax.plot([low, low + difference], [1.1, 1.1], color="black", marker="|")
    words = f"critical difference {difference:.1f}"
    ax.text(low + difference + 0.1, 1.1, words, va="center")
    ticks = np.arange(low, high + 1)
    ax.plot([low, high], [0, 0], color="black", linewidth=1)
    for tick in ticks:
        ax.plot([tick, tick], [0, 0.2], color="black", linewidth=1)
        ax.text(tick, 0.3, f"{tick:.0f}", ha="center", va="bottom")
    ax.set(xlim=(low - 2.6, high + 2.2), ylim=(None, 1.5))
    ax.axis("off")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


# ----------------------------------------------------------------------------- tables


def summary(rows, errors):
    """Lines that say what was run and how many strategies can be distinguished."""
    by_data = data_set_ranks(rows, errors)
    means = by_data.mean(axis=0)
    apart = np.abs(means[:, None] - means) > critical_difference(*by_data.shape[::-1])
    k = len(STRATEGIES)
    return [
        f"{len(rows)} similarities from {len(by_data)} data sets, each split 60 / 40 "
        f"at random {rows[0]['splits']} times.",
        f"The Nemenyi test distinguishes {apart.sum() // 2} of {k * (k - 1) // 2} "
        "pairs of strategies.",
    ]


def title(strategy):
    """Name in a table: code as code."""
    name = TITLES[strategy]
    if strategy == "recommended":
        return "**what `compare` recommends**"
    return f"`{name}`" if "SVC" in name and " " not in name else name


def regret_table(rows, errors, seconds):
    """Lines of a table: mean errors of both halves and what choosing costs."""
    halves = np.array([row["half"] for row in rows])
    fixed = errors[:, : len(FIXED)].min(axis=1)  # the best one in hindsight
    lines = [
        "| strategy | design half % | report half % | regret | worst | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for s in np.argsort(errors.mean(axis=0), kind="stable"):
        regret = errors[:, s] - fixed
        design, report = (errors[halves == h, s].mean() for h in ("design", "report"))

        lines.append(
            f"| {title(STRATEGIES[s])} | {design:.2f} | {report:.2f} | "
            f"{regret.mean():.2f} | {regret.max():.1f} | {seconds[:, s].mean():.2f} |"
        )
    return [*lines, ""]


def extremes(rows, errors, shown, *, losses):
    """Lines of a table: where `SpectrumSVCCV()` lost, or won, most points."""
    ours = errors[:, STRATEGIES.index("average")]
    fixed = errors[:, : len(FIXED)]
    gain = fixed.min(axis=1) - ours
    gain = -gain if losses else gain
    order = [i for i in np.argsort(-gain, kind="stable")[:shown] if gain[i] > 0.05]
    word = "lost" if losses else "gained"
    lines = [
        f"| similarity | `SpectrumSVCCV()` | best fixed strategy | error | {word} |",
        "|---|---|---|---|---|",
    ]
    for i in order:
        name = title(FIXED[int(fixed[i].argmin())])
        lines.append(
            f"| {rows[i]['similarity']} | {ours[i]:.1f} | {name} | "
            f"{fixed[i].min():.1f} | {gain[i]:.1f} |"
        )
    return [*lines, ""]


def duels(errors):
    """Lines of a table: `SpectrumSVCCV()` against each fixed strategy."""
    ours = errors[:, STRATEGIES.index("average")]
    lines = [
        "| against | losses | ties | wins | mean gain in points |",
        "|---|---|---|---|---|",
    ]
    gains = [(errors[:, s] - ours) for s in range(len(FIXED))]
    for s in np.argsort([gain.mean() for gain in gains], kind="stable"):
        gain = gains[s]
        wins, losses = int((gain > 1e-9).sum()), int((gain < -1e-9).sum())
        ties = gain.size - wins - losses
        name = title(FIXED[s])
        lines.append(f"| {name} | {losses} | {ties} | {wins} | {gain.mean():+.2f} |")
    return [*lines, ""]


def tables(rows, errors, seconds, shown=8):
    """Return the text between the marks of the page."""
    lines = [*summary(rows, errors), ""]
    lines += ["## Losses first", "", *extremes(rows, errors, shown, losses=True)]
    lines += ["## Wins", "", *extremes(rows, errors, shown, losses=False)]
    lines += ["## Head to head", "", *duels(errors)]
    lines += ["## All strategies", "", *regret_table(rows, errors, seconds)]
    return "\n".join(lines)


def main():
    """Write the page and the picture."""
    rows, errors, seconds = read()
    page = GUIDE / "results.md"
    before, rest = page.read_text("utf-8").split(BEGIN)
    after = rest.split(END)[1]
    text = f"{before}{BEGIN}\n{tables(rows, errors, seconds)}\n{END}{after}"
    page.write_text(text, "utf-8")
    draw(rows, errors)


if __name__ == "__main__":
    main()
