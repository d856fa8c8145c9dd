# Every target makes the virtual environment it needs; all that is asked for is `python3` (3.11 or newer) with venv.
PYTHON ?= python3
BIN := .venv/bin
BENCHMARKS := loss_gradient gauss_newton compile_seconds step_profile step_profile scaling derivative_orders laplacians time_to_error figure
INSTALLED := .venv/.installed
DEVELOP := $(INSTALLED)-dev

.PHONY: demo test lint format accuracy bench clean

demo: $(INSTALLED)
	$(BIN)/python problems/burgers.py --seconds 60

test: $(DEVELOP)
	$(BIN)/python -m pytest -n auto

lint: $(DEVELOP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

format: $(DEVELOP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

accuracy: $(INSTALLED)
	$(BIN)/python -m benchmarks.accuracy --output outputs/accuracy --docs outputs/accuracy

bench: $(INSTALLED)-bench
	set -e; for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python -m benchmarks.$$name; done

clean:
	rm -rf .venv outputs .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is newer than pyproject.toml exactly when what it names is installed.
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

# What tests and checks need, MindSpore and MPI among it.
$(DEVELOP): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# The peers that benchmarks compare with.
$(INSTALLED)-bench: $(DEVELOP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@
