"""``krein demo``: the main job on real data, with an HTML report."""

from __future__ import annotations

import argparse
from typing import Any

SUMMARY = "run the main job on real data and write an HTML report"
EXAMPLES = ("krein demo --output krein-demo",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--output",
        default="krein-demo",
        metavar="FOLDER",
        help="folder of the report (default: krein-demo)",
    )


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Compute the demo and write the report."""
    from krein.report.demo import write_demo

    return write_demo(args.output, show=not args.quiet)


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the findings, the advice, and where the report is."""
    for case in payload["cases"]:
        print(f"{case['title']}: {case['finding']}")
    for case in payload["cases"]:
        print(f"\n{case['title']}: {case['spectrum']['advice'][0]}")
        print(case["comparison"]["recommendation"])
    print(f"\nreport: {payload['report']}")
