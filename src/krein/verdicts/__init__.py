"""Verdicts of a comparison as records (`reasons`), and their words (`sentences`)."""
