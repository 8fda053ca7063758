"""The page of results, written from docs/guide/results.csv alone.

    python benchmarks/results_page.py

Writes the answer and the tables between the marks of docs/guide/results.md, and the
diagram of ranks, docs/guide/ranks.svg. `benchmarks/regret.py` measures the CSV: a row
for each similarity, a column for each strategy with its error in percent, and a column
with its processor seconds.
"""

from __future__ import annotations

import csv
import textwrap
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, studentized_range

GUIDE = Path(__file__).parents[1] / "docs" / "guide"
FIXED = ("svc", "clip", "flip", "square", "shift", "krein", "neighbors", "features",
         "random_objects", "rbf_rows", "flip_logistic", "svc_converted",
         "flip_logistic_converted", "converted")  # fmt: skip
CONVERTED = ("svc_converted", "flip_logistic_converted", "converted")
CHOSEN = ("average", "best", "similarity", "recommended")
STRATEGIES = (*FIXED, *CHOSEN)
# SVC, tuned, on the conversion that the similarity model ranks first: a check.
ALIKE = "svc_alike"
COLUMNS = (*STRATEGIES, ALIKE)
OURS = "similarity"
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
    "rbf_rows": "RBF on rows",
    "flip_logistic": "flip, logistic",
    "svc_converted": "SVC, conversion chosen",
    "flip_logistic_converted": "flip, logistic, conversion chosen",
    "converted": "SpectrumSVCCV() on distances",
    "average": "SpectrumSVCCV()",
    "best": 'SpectrumSVCCV(combine="best")',
    "similarity": "SimilarityClassifier()",
    "recommended": "what compare recommends",
}
LEVEL = 0.05
MUCH = 4.0  # points by which nobody wants to lose against SVC
BLUE, GREY = "#2b6cb0", "#4a5568"


def read(path=GUIDE / "results.csv"):
    """Return rows of text, errors and seconds (similarities x strategies)."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    errors = [[float(row[s]) for s in STRATEGIES] for row in rows]
    seconds = [[float(row[f"{s} seconds"]) for s in STRATEGIES] for row in rows]
    return rows, np.array(errors), np.array(seconds)


def read_several(path=GUIDE / "several_kernels.csv"):
    """Return rows of text: data sets with several kernels."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ------------------------------------------------------------------------------ ranks


def data_set_ranks(rows, errors):
    """Ranks of the strategies on each data set, averaged over its similarities.

    Similarities made from one data set are not independent, so data sets are counted.
    """
    ranks = np.apply_along_axis(rankdata, 1, errors)
    names = np.array([row["name"].split(",")[0] for row in rows])
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
    room = 0.6 * (high - low)  # for the names
    ax.set(xlim=(low - room, high + room), ylim=(None, 1.5))
    ax.axis("off")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


# ----------------------------------------------------------------------------- tables


def distinguished(rows, errors):
    """How many pairs of strategies the Nemenyi test tells apart, in words."""
    by_data = data_set_ranks(rows, errors)
    means = by_data.mean(axis=0)
    apart = np.abs(means[:, None] - means) > critical_difference(*by_data.shape[::-1])
    k = len(STRATEGIES)
    return f"{apart.sum() // 2} of {k * (k - 1) // 2} pairs of strategies"


def answer(rows, errors):
    """The first paragraph of the page: losses, then means, then what a test can say."""
    fixed = errors[:, : len(FIXED)]
    ours = errors[:, STRATEGIES.index(OURS)]
    i = int((ours - fixed.min(axis=1)).argmax())
    winner = title(FIXED[int(fixed[i].argmin())])
    means = dict(zip(STRATEGIES, errors.mean(axis=0), strict=True))
    lower = sorted((s for s in FIXED if means[s] < means[OURS]), key=means.get)
    best = min(FIXED, key=means.get)
    named = ", ".join(f"{title(s)} ({means[s]:.2f} %)" for s in lower or [best])
    which = "lower means have" if lower else "the best of the fixed strategies is"
    gain = errors[:, FIXED.index(best)] - ours
    report = [i for i, row in enumerate(rows) if row["half"] == "report"]
    reported = over_data_sets([rows[i] for i in report], gain[report])
    text = (
        f"{len(STRATEGIES)} strategies were measured on {len(rows)} similarities as "
        f"users would make them. {title(OURS)} loses most on "
        f"{rows[i]['name']}: {ours[i]:.1f} % errors against {fixed[i].min():.1f} "
        f"% of {winner}. Its mean error is {means[OURS]:.2f} %; {which} {named}. "
        f"By data sets the lead over {title(best)} is {over_data_sets(rows, gain)} "
        f"points, on the report half {reported}. "
        f"{title('average')}, which chooses no conversion, has "
        f"{means['average']:.2f} %. A cautious test over data sets can distinguish "
        f"{distinguished(rows, errors)}."
    )
    return wrapped(text)


def wrapped(text):
    """Lines of a paragraph, as prose of the guide has them."""
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def summary(rows, errors):
    """Lines that say what was run, what choosing costs, and where SVC is better."""
    data_sets = len(data_set_ranks(rows, errors))
    return [
        f"{len(rows)} similarities from {data_sets} data sets, each split 60 / 40 "
        f"at random {rows[0]['splits']} times.",
        f"The Nemenyi test distinguishes {distinguished(rows, errors)}; the ranks "
        "were averaged within data sets first.",
        "",
        wrapped(against_the_best(errors)),
        "",
        wrapped(against_alike(rows, errors)),
    ]


def several_kernels(pooled):
    """One model of all kernels of a data set against the kernel of the best score."""
    columns = ("pooled", "best score", "hindsight")
    errors = np.array([[float(row[name]) for name in columns] for row in pooled])
    gain = errors[:, 1] - errors[:, 0]
    order = np.argsort(gain, kind="stable")
    worst = order[0]
    spread = gain.std(ddof=1) / np.sqrt(gain.size)
    together, by_score, hindsight = errors.mean(axis=0)
    text = (
        f"On {len(pooled)} data sets with several kernels ({pooled[0]['splits']} "
        f"splits each) {title(OURS)} has {together:.2f} % errors on all kernels at "
        f"once. The kernel whose model has the best score has {by_score:.2f} %, the "
        f"best kernel in hindsight {hindsight:.2f} %. Pooling gains {gain.mean():+.2f} "
        f"+- {spread:.2f} points (standard error over data sets) and loses most on "
        f"{pooled[worst]['data set']}: {errors[worst, 0]:.1f} % against "
        f"{errors[worst, 1]:.1f} %."
    )
    lines = [
        wrapped(text),
        "",
        "| data set | kernels | pooled % | best score % | best in hindsight % |",
        "|---|---|---|---|---|",
    ]
    for i in order:
        numbers = " | ".join(f"{error:.1f}" for error in errors[i])
        name, kernels = pooled[i]["data set"], pooled[i]["kernels"]
        lines.append(f"| {name} | {kernels} | {numbers} |")
    return [*lines, ""]


def against_the_best(errors):
    """What is recommended, against the best in hindsight and the best for all."""
    recommended = errors[:, STRATEGIES.index("recommended")]
    fixed = errors[:, : len(FIXED)]
    best = int(fixed.mean(axis=0).argmin())
    one = recommended.mean() - fixed[:, best].mean()
    each = (recommended - fixed.min(axis=1)).mean()
    as_given = [i for i, s in enumerate(FIXED) if s not in CONVERTED]
    without = (recommended - fixed[:, as_given].min(axis=1)).mean()
    return (
        "What `compare` recommends is "
        f"{each:.2f} points above the best of the {len(FIXED)} fixed strategies, "
        "chosen in hindsight for each similarity (the *regret*), "
        f"{without:.2f} above the best of those that choose no conversion, and "
        f"{_apart(one)} {title(FIXED[best])}, the best one for all."
    )


def against_alike(rows, errors):
    """The model against SVC, tuned, on the conversion that the model ranks first."""
    alike = np.array([float(row[ALIKE]) for row in rows])
    lost = errors[:, STRATEGIES.index(OURS)] - alike
    order = np.argsort(-lost, kind="stable")
    worst = order[0]
    much = [rows[i]["name"] for i in order if lost[i] >= MUCH]
    named = f" ({'; '.join(much)})" if much else ""
    return (
        f"scikit-learn's `SVC`, tuned, has a mean error of {alike.mean():.2f} % on the "
        f"conversion that {title(OURS)} ranks first; the model itself is "
        f"{_apart(lost.mean())} that. The largest lead of `SVC` is {lost[worst]:.1f} "
        f"points, on {rows[worst]['name']}; it leads by {MUCH:g} points or more on "
        f"{len(much)} similarities{named}."
    )


def _apart(difference):
    """A difference of points in words."""
    side = "below" if difference < 0 else "above"
    return f"{abs(difference):.2f} points {side}"


def title(strategy):
    """Name in a table: code as code."""
    name = TITLES[strategy]
    if strategy == "recommended":
        return "**what `compare` recommends**"
    return f"`{name}`" if " " not in name and name[0].isupper() else name


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
    """Lines of a table: where the model lost, or won, most points."""
    ours = errors[:, STRATEGIES.index(OURS)]
    fixed = errors[:, : len(FIXED)]
    gain = fixed.min(axis=1) - ours
    gain = -gain if losses else gain
    order = [i for i in np.argsort(-gain, kind="stable")[:shown] if gain[i] > 0.05]
    word = "lost" if losses else "gained"
    lines = [
        f"| similarity | {title(OURS)} | best fixed strategy | error | {word} |",
        "|---|---|---|---|---|",
    ]
    for i in order:
        name = title(FIXED[int(fixed[i].argmin())])
        lines.append(
            f"| {rows[i]['name']} | {ours[i]:.1f} | {name} | "
            f"{fixed[i].min():.1f} | {gain[i]:.1f} |"
        )
    return [*lines, ""]


def over_data_sets(rows, gains):
    """Mean gain and its standard error, data sets counted once each."""
    found = {}
    for row, gain in zip(rows, gains, strict=True):
        found.setdefault(row["name"].split(",")[0], []).append(gain)
    means = np.array([np.mean(one) for one in found.values()])
    return f"{means.mean():+.2f} ± {means.std(ddof=1) / np.sqrt(means.size):.2f}"


def duels(rows, errors):
    """Lines of a table: the model against each of the other strategies."""
    ours = errors[:, STRATEGIES.index(OURS)]
    others = [s for s in STRATEGIES if s != OURS]
    report = [i for i, row in enumerate(rows) if row["half"] == "report"]
    lines = [
        "| against | losses | ties | wins | mean gain in points | by data sets | "
        "of the report half |",
        "|---|---|---|---|---|---|---|",
    ]
    gains = [errors[:, STRATEGIES.index(s)] - ours for s in others]
    for s in np.argsort([gain.mean() for gain in gains], kind="stable"):
        gain = gains[s]
        wins, losses = int((gain > 1e-9).sum()), int((gain < -1e-9).sum())
        ties = gain.size - wins - losses
        name = title(others[s])
        every = over_data_sets(rows, gain)
        reported = over_data_sets([rows[i] for i in report], gain[report])
        lines.append(
            f"| {name} | {losses} | {ties} | {wins} | {gain.mean():+.2f} | {every} | "
            f"{reported} |"
        )
    return [*lines, ""]


def tables(rows, errors, seconds, pooled, shown=8):
    """Return the text between the marks of the page."""
    lines = [*summary(rows, errors), ""]
    lines += ["## Losses first", "", *extremes(rows, errors, shown, losses=True)]
    lines += ["## Wins", "", *extremes(rows, errors, shown, losses=False)]
    lines += ["## Head to head", "", *duels(rows, errors)]
    lines += ["## All strategies", "", *regret_table(rows, errors, seconds)]
    lines += ["## Several kernels", "", *several_kernels(pooled)]
    return "\n".join(lines)


def marked(page, name, text):
    """Put a text between the marks of a page."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}\n{text}\n{end}{after}"


def main():
    """Write the page and the picture."""
    rows, errors, seconds = read()
    path = GUIDE / "results.md"
    page = marked(path.read_text("utf-8"), "answer", answer(rows, errors))
    page = marked(page, "results", tables(rows, errors, seconds, read_several()))
    path.write_text(page, "utf-8")
    draw(rows, errors)


if __name__ == "__main__":
    main()
