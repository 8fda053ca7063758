"""``krein demo``: the main job on real data, with an HTML report."""

from __future__ import annotations

import argparse
from typing import Any

from krein.report.demo import write_demo


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Compute the demo and write the report."""
    return write_demo(args.output, show=not args.quiet)


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the findings, the advice, and where the report is."""
    for case in payload["cases"]:
        print(f"{case['title']}: {case['finding']}")
    for case in payload["cases"]:
        print(f"\n{case['title']}: {case['spectrum']['advice'][0]}")
        print(case["comparison"]["recommendation"])
    print(f"\nreport: {payload['report']}")
