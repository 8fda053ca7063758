"""Run every benchmark of this package: ``python -m benchmarks [NAME ...]``.

A benchmark is a module with ``run()``, which yields lines of text.
"""

import importlib
import pkgutil
import sys

import benchmarks


def main(names):
    known = [m.name for m in pkgutil.iter_modules(benchmarks.__path__)]
    known = [name for name in known if not name.startswith("_")]
    for name in names or known:
        if name not in known:
            raise SystemExit(f"no benchmark {name!r}; there are {', '.join(known)}")
        print(f"== {name}", flush=True)
        for line in importlib.import_module(f"benchmarks.{name}").run():
            print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
