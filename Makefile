# Everything runs in .venv, which the first target that needs it creates. A machine with only Python 3.11 or newer is enough;
# PYTHON=/path/to/python picks the interpreter, EXTRAS= picks the optional groups of pyproject.toml.

VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
EXTRAS ?= gpu ptxas

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types format bench record clean

help:
	@echo "make demo    prove, emit, assemble and simulate the interleaved ldmatrix example"
	@echo "make test    run the tests"
	@echo "make lint    check style;  make format  mend it;  make types  check types"
	@echo "make bench   run the benchmarks;  make record  run the examples on this machine's GPU and keep what came back"
	@echo "make setup   create or renew .venv;  make clean  remove it and every cache"

setup: $(VENV)/.ready

demo: $(VENV)/.ready
	$(BIN)/python examples/ldmatrix_interleaved.py

test: $(VENV)/.ready
	$(BIN)/python -m pytest -n 2 -p no:benchmark

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.ready
	$(BIN)/mypy

record: $(VENV)/.ready
	$(BIN)/python benchmarks/record_examples.py

bench: $(VENV)/.ready
	@set -e; for script in $(filter-out benchmarks/record_examples.py,$(wildcard benchmarks/[!_]*.py)); do echo "== $$script"; $(BIN)/python "$$script"; done

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks build dist
	find tileproof tests examples benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# The package and the developer tools must install. The extras are NVIDIA's own wheels, which not every platform has: without
# them everything but assembling and launching works.
$(VENV)/.ready: pyproject.toml | $(BIN)/python
	@echo "installing tileproof and the developer tools into $(VENV)"
	@$(PIP) install --editable '.[dev]'
	@for extra in $(EXTRAS); do \
	    echo "installing the extra '$$extra'"; \
	    $(PIP) install --editable ".[$$extra]" || \
	        echo "note: the extra '$$extra' could not be installed; what needs it says so. To try again: make clean setup" >&2; \
	done
	@touch $@

$(BIN)/python:
	@for python in $(or $(PYTHON),python3.13 python3.12 python3.11 python3); do \
	    if "$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        echo "creating $(VENV) with $$("$$python" --version)"; \
	        exec "$$python" -m venv $(VENV); \
	    fi; \
	done; \
	echo "no usable Python found: needed is 3.11 or newer with its venv module (Debian: apt-get install python3-venv)," \
	     "on PATH or as make PYTHON=/path/to/python" >&2; \
	exit 1
