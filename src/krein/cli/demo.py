"""``krein demo``: the main job on real data, without files."""

from __future__ import annotations

from typing import Any

from krein.cli import Options


def demo(args: Options) -> dict[str, Any]:
    """Compute the demo and write the report."""
    from krein.report.demo import write_demo

    return write_demo(args.output, show=not args.quiet)


def show_demo(payload: dict[str, Any], args: Options) -> None:
    """Print the findings, the advice, and where the report is."""
    for case in payload["cases"]:
        print(f"{case['title']}: {case['finding']}")
        print(case["diagnosis"]["advice"][0])
        print(case["recommendation"] + "\n")
    print(f"report: {payload['report']}")
