PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo docs test lowest soak coverage mutants lint format size clean

# Python 3.11 or 3.12, for which the lowest versions can be had ready made
OLD = $(shell for python in $(PYTHON) python3.11 python3.12; do $$python -c 'import sys; sys.exit(sys.version_info[:2] > (3, 12))' 2>/dev/null && echo $$python && break; done)
LOWEST := build/lowest
# everything that an extra brings, and the doors; what takes long, or a browser, is left out
LOWEST_TESTS := tests/arms tests/cli tests/report tests/results tests/server tests/storage tests/test_sklearn.py

demo: $(READY)
	$(BIN)/python -m kabc.demo

test: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

# the lowest versions that pyproject.toml allows, in an environment of its own. What tests with is new, and changes none of
# them; old libraries use what others have deprecated since, and the text of the schema is that of a new pydantic.
lowest:
	@test -n "$(OLD)" || (echo "make lowest needs Python 3.11 or 3.12: the lowest versions are not made for newer ones" >&2; exit 1)
	$(OLD) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct --editable ".[all,dask]"
	$(LOWEST)/bin/uv pip freeze --quiet --python $(LOWEST) --exclude-editable > $(LOWEST)/versions.txt
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST) --constraint $(LOWEST)/versions.txt hypothesis pandas 'polars<2' pytest pytest-timeout pytest-xdist
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest $(LOWEST_TESTS) -n auto --dist worksteal -m "not slow" \
		-W ignore::DeprecationWarning --ignore tests/report/test_chromium.py --ignore tests/server/test_page.py \
		--deselect tests/results/test_schema.py::test_the_schema_in_the_docs_is_up_to_date

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

# statements and files of each room, beside its budget
size:
	$(PYTHON) tools/size.py

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
