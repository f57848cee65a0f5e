PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo docs test soak coverage mutants lint format clean

demo: $(READY)
	$(BIN)/python -m kabc.demo

test: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

# the long form of all fuzzers, of the tests of stores and clusters (Ray too, which is large), and of accidents of studies
soak: $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[all,ray]"
	KABC_FUZZ=100 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/fuzz tests/storage tests/chaos tests/running/engines -n auto --dist worksteal

coverage: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal --cov

mutants: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.mutations

# the site; anything that is not right ends the build
docs: $(READY)
	$(BIN)/python -m sphinx -b html -W --keep-going -q -d build/docs-cache docs build/docs
	@echo build/docs/index.html

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("kabc needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; try make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	touch $(READY)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
