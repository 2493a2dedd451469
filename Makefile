# Every target works alone on a fresh clone with Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One stamp per set of extras, so that a target installs what it needs and no more.
STAMPS := $(VENV)/stamps

.DEFAULT_GOAL := help
.PHONY: help demo test browser lint bench papers clean

GET_BROWSER := apt-get -qq update && apt-get -qq install --yes --no-install-recommends chromium

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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

test: $(STAMPS)/test browser ## Run all tests
	$(BIN)/python -m pytest -n 2

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

bench: $(STAMPS)/bench ## Measure speed against scikit-learn and LightGBM
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/speed_paths.py
	$(BIN)/python benchmarks/speed_landmarks.py

papers: $(STAMPS)/bench ## Print our errors beside the published ones
	$(BIN)/python benchmarks/papers_constructive.py
	$(BIN)/python benchmarks/papers_landmarks.py
	$(BIN)/python benchmarks/papers_recursive.py
	$(BIN)/python benchmarks/papers_fctree.py
	$(BIN)/python benchmarks/papers_paths.py

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
