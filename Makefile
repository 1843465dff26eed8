# Everything a newcomer needs: `make demo` and `make test`. Each target makes its own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= out/demo

.PHONY: demo test test-deep faults check format bench docs wheel clean

# The environment for work on Flou, with every optional engine that the tests use.
$(VENV)/.dev: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

# The environment of a user: the package alone.
$(VENV)/.user: pyproject.toml constraints.txt
	test -f $(VENV)/.dev || $(PYTHON) -m venv $(VENV)
	test -f $(VENV)/.dev || $(BIN)/python -m pip install --quiet --upgrade pip
	test -f $(VENV)/.dev || $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

demo: $(VENV)/.user
	$(BIN)/flou demo --out $(OUT) --replace
	@echo "Open $(OUT)/internal/report.en.html in a browser."

# Every day: some minutes. A test that takes longer is left to `make test-deep`, which draws more examples as well.
test: $(VENV)/.dev
	$(BIN)/python -m tests.compile_kernels
	$(BIN)/python -m pytest --numprocesses=2 --dist=loadgroup $(ARGS)

test-deep: $(VENV)/.dev
	$(BIN)/python -m tests.compile_kernels
	FLOU_TESTS=deep $(BIN)/python -m pytest --numprocesses=2 --dist=loadgroup $(ARGS)

# Plant small defects, one by one, and see that a test notices each.
faults: $(VENV)/.dev
	$(BIN)/python tests/faults/run.py $(ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python -m bench $(ARGS)

docs: $(VENV)/.dev
	$(BIN)/python docs/build.py

wheel: $(VENV)/.dev
	$(BIN)/python -m build --wheel --outdir dist

clean:
	rm -rf $(VENV) build dist out .numba_cache .pytest_cache .mypy_cache .ruff_cache
