"""The papers' own algorithms, as published."""
