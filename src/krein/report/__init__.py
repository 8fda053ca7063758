"""The HTML report of a comparison: data in `data`, the page in `render`.

A comparison is known here by its attributes only; `krein.comparison` asks for a page.
"""

from krein.report.render import write_report

__all__ = ["write_report"]
