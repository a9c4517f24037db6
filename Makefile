# make venv          .venv with meshkit (editable) and the developers' tools
# make check test    what must pass before a commit
# Any target runs in another environment with PYTHON=/path/to/python.

VENV ?= .venv
BASE_PYTHON ?= python3
# Asked again at every use, so that `make venv test` finds what `venv` has just made.
PYTHON ?= $(shell test -x $(VENV)/bin/python && echo $(VENV)/bin/python || echo $(BASE_PYTHON))
# One worker a core; beyond eight, importing torch costs more than the tests do.
WORKERS ?= auto --maxprocesses 8
PYTEST_ARGS ?=
FUZZ_ARGS ?=
BENCH_ARGS ?=
PIP_INSTALL = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo venv check format test fuzz bench wheel clean
.NOTPARALLEL:

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

$(VENV)/bin/python:
	$(BASE_PYTHON) -m venv $(VENV)

demo: $(VENV)/bin/python
	$(PIP_INSTALL) -e .
	mkdir -p demo
	$(VENV)/bin/python examples/sample_case.py demo/pipe_bend.vtu
	$(VENV)/bin/meshkit convert demo/pipe_bend.vtu demo/pipe_bend.npz
	$(VENV)/bin/meshkit info demo/pipe_bend.npz

venv: $(VENV)/bin/python
	$(PIP_INSTALL) -e '.[dev]'

check:
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy

format:
	$(PYTHON) -m ruff check --fix
	$(PYTHON) -m ruff format

test:
	$(PYTHON) -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

# Damaged files of every format; FUZZ_ARGS="--mutations 3000 .vtu" for more.
fuzz:
	$(PYTHON) -m tests.fuzz $(FUZZ_ARGS)

# Speed beside pyvista and meshio; BENCH_ARGS="--record" keeps the table.
bench:
	$(PYTHON) -m benchmarks $(BENCH_ARGS)

wheel:
	$(PYTHON) -m build --outdir dist

clean:
	rm -rf build dist demo *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
