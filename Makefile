# Every target works from a bare clone: it makes .venv, installs what it needs (once),
# and runs. Another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(SCRIPTS)
VERSIONS := 3.11 3.12 3.13 3.14
DEMO_EXTRAS := plot,bio
OLDEST := numpy==2.0.* scipy==1.13.* scikit-learn==1.6.* joblib==1.3.* threadpoolctl==3.2.*

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Two test workers with one BLAS thread each, not two times all cores.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

# Benchmark data beside the clone, unless the user names another folder.
BESIDE := $(abspath ../shared/data)
ifndef KREIN_DATA
ifneq ($(wildcard $(BESIDE)),)
export KREIN_DATA := $(BESIDE)
endif
endif

.PHONY: help demo test test-all test-oldest test-versions coverage fuzz mutants lint docs
.PHONY: bench bench-check papers dist lines clean
.DELETE_ON_ERROR:
.SECONDARY: $(VENV)/.made $(VENV)-oldest/.made

help:
	@echo "make demo         run the main job on bundled data, write krein-demo/index.html"
	@echo "make test         run the fast tests"
	@echo "make test-all     run all tests, the slow ones too"
	@echo "make test-oldest  run the fast tests on the oldest supported versions"
	@echo "make test-versions  run the fast tests on every Python found among $(VERSIONS)"
	@echo "make coverage     run the fast tests, print the share of lines they reach"
	@echo "make fuzz         random trials for MINUTES=30, resumable; failures in .fuzz/failures.txt"
	@echo "make mutants      plant mistakes one by one and see which no test notices"
	@echo "make lint         ruff, mypy, codespell"
	@echo "make lines        lines of code by room, length of functions, rooms in a cycle"
	@echo "make docs         build the documentation in docs/_build/html"
	@echo "make bench        measure all speed figures (20 minutes), write them into the pages"
	@echo "make bench-check  measure again and name the ratios that got worse"
	@echo "make papers       the papers' experiments: list them, or run one with TABLE=name (or all)"
	@echo "make dist         build, install the wheel in a new environment, run the demo"
	@echo "make clean        remove environments and build output"

demo: $(VENV)/.with-$(DEMO_EXTRAS)
	$(BIN)/krein demo

test: $(VENV)/.with-test
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m "not slow"

test-all: $(VENV)/.with-test
	$(ONE_THREAD) HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -n 2

test-oldest: $(VENV)-oldest/.with-test
	$(ONE_THREAD) $(VENV)-oldest/$(SCRIPTS)/python -m pytest -n 2 -m "not slow"

# Each interpreter in an environment of its own; what is not installed is named.
test-versions:
	@for version in $(VERSIONS); do \
	  python=$$(ls -d $$HOME/.pyenv/versions/$$version.*/bin/python 2>/dev/null | tail -1); \
	  python=$${python:-$$(command -v python$$version)}; \
	  if "$$python" -c 'import sys' 2>/dev/null; then \
	    $(MAKE) test PYTHON=$$python VENV=$(VENV)-$$version || exit 1; \
	  else echo "python$$version is not installed here: not tested"; fi; \
	done

coverage: $(VENV)/.with-test
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m "not slow" -q --cov --cov-report=term

MINUTES ?= 30
fuzz: $(VENV)/.with-test
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz --minutes $(MINUTES)

mutants: $(VENV)/.with-test
	$(ONE_THREAD) $(BIN)/python -m tests.mutants

lint: $(VENV)/.with-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

lines:
	@$(PYTHON) tools/lines.py

docs: $(VENV)/.with-docs
	$(ONE_THREAD) $(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html
	@echo "documentation: docs/_build/html/index.html"

# RESUME=1 keeps what an interrupted run has measured.
bench: $(VENV)/.with-test
	$(BIN)/python benchmarks/speed --out benchmarks/speed/results.txt $(if $(RESUME),--resume)
	$(BIN)/python benchmarks/speed/pages.py

# ONLY=word measures the figures that have it.
bench-check: $(VENV)/.with-test
	$(BIN)/python benchmarks/speed --against benchmarks/speed/results.txt --only "$(ONLY)"

# TABLE=ying-table3 or TABLE=all runs what is missing; OPTIONS=--quick, --jobs 2, ...
papers: $(VENV)/.with-test
	$(ONE_THREAD) $(BIN)/python -m papers $(TABLE) $(OPTIONS)

dist: $(VENV)/.with-dev
	rm -rf dist $(VENV)-dist
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv $(VENV)-dist
	$(VENV)-dist/$(SCRIPTS)/pip install --quiet "$$(ls dist/*.whl)[$(DEMO_EXTRAS)]"
	cd dist && ../$(VENV)-dist/$(SCRIPTS)/krein demo

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-dist $(addprefix $(VENV)-,$(VERSIONS)) build dist docs/_build docs/api docs/auto_examples krein-demo
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests papers benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# ------------------------------------------------------------------- environments

# One stamp per group of extras, so that nothing is installed twice.
$(VENV)/.with-%: pyproject.toml | $(VENV)/.made
	@echo "installing krein[$*] into $(VENV)"
	@$(BIN)/pip install --quiet --editable ".[$*]"
	@touch $@

$(VENV)-oldest/.with-%: pyproject.toml | $(VENV)-oldest/.made
	@echo "installing krein[$*] and the oldest supported versions into $(VENV)-oldest"
	@$(VENV)-oldest/$(SCRIPTS)/pip install --quiet --editable ".[$*]" $(patsubst %,'%',$(OLDEST))
	@touch $@

%/.made:
	@$(PYTHON) -c 'import sys' 2>/dev/null || { \
	  echo "krein: '$(PYTHON)' was not found. Install Python 3.11 or newer," \
	    "or name it: make PYTHON=/path/to/python3"; exit 1; } >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "krein: Python 3.11 or newer is needed, but '$(PYTHON)' is" \
	    "$$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.12"; exit 1; } >&2
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "krein: '$(PYTHON)' lacks the modules venv and ensurepip. On Debian and" \
	    "Ubuntu: apt install python3-venv; or name another: make PYTHON=python3.12"; \
	  exit 1; } >&2
	$(PYTHON) -m venv $*
	@touch $@
