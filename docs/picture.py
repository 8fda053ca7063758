"""Draw the picture of README.md: ``python docs/picture.py`` writes docs/picture.svg."""

from pathlib import Path

import matplotlib.pyplot as plt

from krein.report.demo import demo_report

BLUE, RED, GREY = "#2b6cb0", "#c53030", "#a0aec0"


def draw_spectrum(ax, eigenvalues):
    ordered = sorted(eigenvalues, reverse=True)
    ax.plot(ordered, color=GREY, linewidth=1)
    split = sum(value > 0 for value in ordered)
    ax.fill_between(range(split), ordered[:split], color=BLUE, step="mid")
    ax.fill_between(range(split, len(ordered)), ordered[split:], color=RED, step="mid")
    ax.set_yscale("symlog", linthresh=0.05)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set(title="Eigenvalues of the similarity", xlabel="rank")
    ax.set_yticks([-1, 0, 1, 10], ["-1", "0", "1", "10"])
    note = {"color": RED, "ha": "right", "transform": ax.transAxes}
    ax.text(0.98, 0.62, "negative: no inner product", **note)


def draw_errors(ax, scores):
    names = [{"none": "raw"}.get(row["method"], row["method"]) for row in scores]
    errors = [row["error"] for row in scores]
    colours = [BLUE if error == min(errors) else GREY for error in errors]
    bars = ax.barh(names[::-1], errors[::-1], color=colours[::-1])
    ax.bar_label(bars, fmt=" %.1f %%")
    ax.set(title="Error of the SVM on it", xlim=(0, 36))
    ax.xaxis.set_visible(False)


if __name__ == "__main__":
    plt.switch_backend("svg")
    plt.rcParams.update({"svg.hashsalt": "krein", "font.size": 11})
    sonar = demo_report()["cases"][0]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    draw_spectrum(left, sonar["diagnosis"]["eigenvalues"])
    draw_errors(right, sonar["scores"])
    figure.savefig(Path(__file__).with_name("picture.svg"), metadata={"Date": None})
