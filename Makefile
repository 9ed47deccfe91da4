# Everything a newcomer or CI runs. Needs git, make and Python 3.11 or newer with venv; each target makes what it needs.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
WORKERS ?= 3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
RUN := $(VENV)/.run
DEV := $(VENV)/.dev
TOOLS := .venv-lock

# The budget table: seconds that a target may take on two cores, set-up included. `.ci/budget` measures each, prints it
# against its budget, and in CI fails what takes three times as long. `make test` as a whole stays under ten minutes.
BUDGET_demo := 180
BUDGET_lint := 20
BUDGET_types := 150
BUDGET_unit := 480
BUDGET_test := 600
BUDGET_slow := 1500
within = .ci/budget $(1) $(BUDGET_$(1))

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: demo
demo: ## two release gates on this machine: one passes, one fails and says why
	@$(call within,demo) $(MAKE) --no-print-directory demo-run

.PHONY: demo-run
demo-run: $(RUN)
	@examples/quickstart/demo

.PHONY: test
test: ## lint, types and every test that is not slow, in under ten minutes
	@$(call within,test) $(MAKE) --no-print-directory lint unit

.PHONY: lint
lint: $(DEV) ## ruff, its formatter, and mypy --strict (bootstrap's modules for Python 3.10 too)
	@$(call within,lint) $(MAKE) --no-print-directory ruff
	@$(call within,types) $(MAKE) --no-print-directory types

.PHONY: ruff
ruff: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: types
types: $(DEV)
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.10 gate/bootstrap gate/agents gate/adapters

.PHONY: unit
unit: $(DEV) claude
	@$(call within,unit) $(BIN)/pytest -n $(WORKERS) --dist worksteal --durations 20 -m 'not slow and not engines'

.PHONY: test-slow
test-slow: $(DEV) claude browser ## the tests that take longer
	@$(call within,slow) $(BIN)/pytest -n $(WORKERS) --dist worksteal -m 'slow and not engines'

GATES ?= 10000
.PHONY: campaign
campaign: $(DEV) ## GATES=10000 random gates with random faults; SEED=… plays the same ones again
	$(BIN)/gate campaign -n $(GATES) $(if $(SEED),--seed $(SEED)) --out .cache/campaign

.PHONY: bench
bench: $(DEV) browser ## measure what the project promises and write bench/README.md (needs curl, jq and strace)
	$(BIN)/python -m bench

.PHONY: wheel
wheel: $(RUN) ## build the wheel into dist/
	rm -f dist/*.whl
	$(BIN)/python -m hatchling build --target wheel --directory dist

.PHONY: claude
claude: $(DEV) ## the pinned Claude CLI, from npm into .cache/
	@$(BIN)/python -m tests.tools.claude_cli

.PHONY: browser
browser: $(DEV) ## headless Chromium, by apt-get where root is missing it
	@$(BIN)/python -m tests.browser.install

# pip in hash-checking mode takes nothing that is not in the lock. The stamp is the last act: an interrupted
# installation starts again.
$(RUN): requirements/run.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else \
	  "Python 3.11 or newer is needed, and $(PYTHON) is " + sys.version.split()[0] + ". Name another: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes -r requirements/run.txt
	$(PIP) install --no-index --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): requirements/dev.txt $(RUN)
	$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

.PHONY: lock
lock: ## write the pinned requirements again from pyproject.toml and requirements/*.in
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes -r requirements/lock.txt
	$(call compile,requirements/lock.txt) requirements/lock.in
	$(call compile,requirements/dev.txt) pyproject.toml requirements/dev.in --all-extras
	$(call compile,requirements/run.txt) pyproject.toml requirements/run.in --constraint requirements/dev.txt

compile = $(TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --output-file $(1) $(UPGRADE)

.PHONY: clean
clean: ## remove everything that was made here
	rm -rf $(VENV) $(TOOLS) .cache dist build .gate .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
