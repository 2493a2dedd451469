# Every target works alone on a fresh clone with Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One stamp per set of extras, so that a target installs what it needs and no more.
STAMPS := $(VENV)/stamps
# What the tests need; where `make lint` has run, its packages hold them.
TESTING := $(STAMPS)/$(if $(wildcard $(STAMPS)/dev),dev,test)

# Packages are installed without compiled modules, so these must be kept when they are first used.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-python test-numba test-oracles browser lint docs docs-check release-check bench papers compare clean

GET_BROWSER := apt-get -qq update && apt-get -qq install --yes --no-install-recommends chromium

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed: run make with PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Modules are compiled when they are first used: most never are.
$(STAMPS)/%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[$*]'
	@mkdir -p $(STAMPS) && touch $@

demo: $(STAMPS)/cli ## Find features for a real table, step by step
	$(BIN)/featurewright demo

# Neighbours in one process share their fixtures, and what is compiled ahead is compiled once.
IN_TWO := -n 2 --dist worksteal

test: ## Run the tests, in minutes
	@$(TOGETHER) $(TESTING) browser
	$(BIN)/featurewright compile --quiet
	$(BIN)/python -m pytest $(IN_TWO)
	@$(TOGETHER) test-numba test-oracles

# Runs targets side by side, each on a core of its own.
TOGETHER = $(MAKE) --no-print-directory --jobs=2

test-numba: $(TESTING)
	FEATUREWRIGHT_COMPILER=numba $(BIN)/python -m pytest -q $(COMPILED)

test-oracles: $(TESTING)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q $(ORACLES)

# What is tested with plain Numba too, and the kernels that are fast enough as Python.
COMPILED := tests/engine/test_decorator.py tests/engine/test_criteria.py tests/engine/test_sums.py
ORACLES := $(addprefix tests/engine/test_,criteria.py sums.py random.py grammar.py partition.py)

test-all: ## Run all tests, the long ones too, as before a release
	@$(TOGETHER) $(TESTING) browser
	@$(MAKE) --no-print-directory $(STAMPS)/spark
	@$(MAKE) --no-print-directory $(STAMPS)/test-backends || echo "Ray or joblib-spark cannot be had here: their tests are skipped."
	$(BIN)/featurewright compile --quiet
	FEATUREWRIGHT_TESTS=all $(BIN)/python -m pytest $(IN_TWO)
	FEATUREWRIGHT_COMPILER=numba $(BIN)/python -m pytest $(IN_TWO) tests/engine
	$(MAKE) test-python

# Kernels run as Python, so that the lines that their tests reach can be counted.
test-python: $(TESTING) ## Run the kernels' tests without compiling, and measure coverage
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 --cov=featurewright.engine --cov-report=term $(ORACLES)

# The report is tested in a browser. Where none is installed and that needs no password, get one;
# elsewhere these tests are skipped, unless FEATUREWRIGHT_NEEDS_BROWSER is set.
browser:
	@command -v chromium > /dev/null || command -v google-chrome > /dev/null \
		|| { command -v apt-get > /dev/null && if [ "$$(id -u)" = 0 ]; then $(GET_BROWSER); \
		else sudo -n true 2> /dev/null && sudo -n sh -c '$(GET_BROWSER)'; fi; } \
		|| echo "No chromium was found or installed: the report is not tested in a browser."

lint: $(STAMPS)/dev ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The pages are built from an empty folder, so that nothing of an older build is left in them.
SITE := docs/_build/html
BUILD_SITE = $(BIN)/python -m sphinx -W --keep-going -q -d docs/_build/doctrees -b html docs $(SITE)

docs: $(STAMPS)/docs ## Build the site and its executed examples into docs/_build/html
	rm -rf docs/_build docs/auto_examples docs/start/tutorial docs/reference/generated
	$(BIN)/featurewright compile --quiet
	@date +%s > $(STAMPS)/site-begun
	$(BUILD_SITE)
	@echo "$$(find $(SITE) -name '*.html' | wc -l) pages, $$(ls docs/examples/*/plot_*.py | wc -l) examples, \
	$$(du -sm $(SITE) | cut -f1) MB, $$(($$(date +%s) - $$(cat $(STAMPS)/site-begun))) s, no warnings."
	@echo "Open $(SITE)/index.html, or run: $(BIN)/python -m http.server --directory $(SITE)"

docs-check: docs ## Build the site, check its links, open it in a browser, run a notebook
	@$(TOGETHER) $(TESTING) browser
	$(BIN)/python -m pytest -q docs/checks

# ARGS=--all-tests runs every test from the source archive; ARGS="--skip site" leaves a step out.
release-check: $(BIN)/python ## Check everything a release must pass, in a clean clone
	$(BIN)/python packaging/release_check.py $(ARGS)

# SIZE=quick or SIZE=full; ARGS goes to the command, such as ARGS="--only paths" or ARGS=--check.
papers compare: SIZE ?= quick
bench: SIZE ?= full

papers: $(STAMPS)/bench ## Rerun the experiments of the publications and compare with theirs
	$(BIN)/python benchmarks/papers.py --$(SIZE) $(ARGS)

bench: $(STAMPS)/bench ## Measure speed and memory, compared with scikit-learn and peers
	$(BIN)/python benchmarks/bench.py --$(SIZE) $(ARGS)

compare: $(STAMPS)/bench ## Compare accuracy with scikit-learn, LightGBM and peers
	$(BIN)/python benchmarks/compare.py --$(SIZE) $(ARGS)

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .venv-peers .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist
	rm -rf docs/_build docs/auto_examples docs/start/tutorial docs/reference/generated
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
