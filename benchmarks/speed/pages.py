"""The speed figures of the README and of the guide, from the results of `make bench`.

    python benchmarks/speed/pages.py

Replaces what stands between the marks in docs/guide/speed.md by a table of seconds from
results.txt, and the seconds of `make demo` in README.md. docs/guide/speed.md includes
results.md, the table of goals, as it is. What was not measured is said to be so.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

from ratios import NUMBER, ONE_THREAD, sections

from krein.store.files import atomic_write

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "speed" / "results.txt"
MARKS = re.compile(r"(?s)(?<=<!-- seconds -->\n).*?(?=<!-- end of seconds -->)")
DEMO = re.compile(r"(?<=make demo   # )\d+(?= seconds)")
STEP = 5  # seconds; the README's number is rounded up to a multiple of it


@dataclass(frozen=True)
class Wait:
    """What somebody waits for: words, the figure, and where its line has the seconds.

    `one_thread` is the pattern in the same section where a script measures both ways
    in one run; otherwise `pattern` is read in the section of the other run.
    """

    words: str
    section: str
    pattern: str
    one_thread: str | None = None
    unit: float = 1.0  # seconds

    def seconds(self, measured: dict[str, str]) -> tuple[float | None, float | None]:
        """With the threads of users, and with one."""
        text = measured.get(self.section, "")
        alone = measured.get(self.section + ONE_THREAD, "")
        if self.one_thread is not None:
            return self._read(self.pattern, text), self._read(self.one_thread, text)
        return self._read(self.pattern, text), self._read(self.pattern, alone)

    def _read(self, pattern: str, text: str) -> float | None:
        match = re.search(pattern.replace("#", NUMBER), text, re.MULTILINE)
        return None if match is None else self.unit * float(match[1])


DEMO_TIME = Wait(
    "`krein demo`", "what people wait for", r"^krein demo: .* processor s, # s"
)
WAITS = [
    Wait(
        "`SpectrumSVC` on 2000 items, processor time",
        "Krein SVM over one eigh and one SVC",
        r"^SpectrumSVC +C = +1: # s",
    ),
    Wait(
        "`compare` of 400 items, all methods",
        "threads",
        r"^compare, n = 400: .*default # ms",
        one_thread=r"^compare, n = 400: one thread # ms",
        unit=1e-3,
    ),
    Wait(
        "the same beside one other busy program",
        "threads beside a busy process",
        r"^compare, n = 400: .*default # ms",
        one_thread=r"^compare, n = 400: one thread # ms",
        unit=1e-3,
    ),
    Wait(
        "`krein compare` of 1000 names by edit distance, all methods",
        "what people wait for",
        r"^compare, 1000 names.*processor s, # s",
    ),
    DEMO_TIME,
    Wait(
        "`SpectrumSVC` on 300 000 items with 200 landmarks",
        "landmarks and workers",
        r"^200 landmarks, n = 300000: # s",
    ),
]


def shown(seconds: float | None) -> str:
    """Two digits, or that there is none."""
    if seconds is None:
        return "not measured"
    digits = max(0, 1 - math.floor(math.log10(seconds)))
    return f"{round(seconds, digits):.{digits}f} s"


def table(measured: dict[str, str]) -> str:
    """Seconds that people wait, in Markdown."""
    lines = ["| work | threads as you have them | one thread |", "|---|---|---|"]
    for wait in WAITS:
        default, one = wait.seconds(measured)
        lines.append(f"| {wait.words} | {shown(default)} | {shown(one)} |")
    return "\n".join(lines) + "\n"


def guide(text: str, measured: dict[str, str]) -> str:
    """The guide's page on speed with the figures of a run."""
    new, count = MARKS.subn(lambda _: table(measured), text)
    if count != 1:
        raise SystemExit("docs/guide/speed.md needs one pair of marks <!-- seconds -->")
    return new


def readme(text: str, measured: dict[str, str]) -> str:
    """The README with the seconds of the demo, rounded up; as it is if unmeasured."""
    seconds, _ = DEMO_TIME.seconds(measured)
    if seconds is None:
        return text
    rounded = STEP * math.ceil(seconds / STEP)
    new, count = DEMO.subn(str(rounded), text)
    if count != 1:
        raise SystemExit("README.md needs one line 'make demo   # N seconds'")
    return new


PAGES = {ROOT / "docs" / "guide" / "speed.md": guide, ROOT / "README.md": readme}


def main() -> None:
    measured = sections(RESULTS)
    for path, fill in PAGES.items():
        old = path.read_text(encoding="utf-8")
        new = fill(old, measured)
        if new != old:
            with atomic_write(path, overwrite=True, text=True) as handle:
                handle.write(new)
        print(f"{path.relative_to(ROOT)}: {'as it was' if new == old else 'written'}")


if __name__ == "__main__":
    main()
