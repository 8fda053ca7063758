"""The HTML report: results -> dict (`data`), dict -> one HTML file (`render`)."""
