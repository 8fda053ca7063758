"""``python -m krein``."""

from krein.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
