# Everything a person or a CI job runs. Bare `make` says what there is.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CHAOS := $(BIN)/kafka-chaos

# What `make chaos-run` is narrowed to; lists are separated by spaces.
SCENARIO ?=
VERSION ?=
SEED ?=
REPEAT ?=
# How many runs `make nightly` has at the same time, and after how many minutes it begins no more.
JOBS ?= 3
MINUTES ?= 170
# What `make test` is narrowed to: files, directories or tests, as pytest takes them.
TESTS ?=
# COVERAGE=1 has `make test` measure what the unit tests run of the product, and say it.
COVERAGE ?=
# Run directories, or folders of them, that `make docs` counts.
RUNS ?=
# What `make audit` reads, in place of the bundled examples.
PATHS ?=
# What `make audit-matrix`, and the audit's part of `make nightly`, are narrowed to: faults of docs/audit-matrix.md.
FAULT ?=
# The versions that the audit's cells are measured on.
MEASURED = $(shell $(BIN)/python -c 'import results; print(*results.MEASURED_ON.values())')
NARROWED = $(if $(FAULT),--faults $(FAULT)) $(if $(filter $(VERSION),$(MEASURED)),--versions $(filter $(VERSION),$(MEASURED)))
# Which machines `make test-bare` makes: releases of Debian.
DEBIAN ?= 12 13
# What `make bench-analysis` measures, in millions of records.
SIZES ?=
# How many small partitions it measures, in place of all else.
SMALL ?=
UNIT := not docker and not spark and not slow
PARALLEL := -n auto --maxprocesses 8
OPTIONS = $(if $(SCENARIO),--scenarios $(SCENARIO)) $(if $(VERSION),--versions $(VERSION)) \
          $(if $(SEED),--seed $(SEED)) $(if $(REPEAT),--repeat $(REPEAT))

##@ Run

.PHONY: demo
demo: engine ## A first verdict and its report, from a bare machine in about 3 minutes: double-failover on 0.10.2.2
	@[ -e $(VENV)/.locked ] || bash .ci/venv "$(PYTHON)" "$(VENV)" $(FIRST)
	@$(BIN)/python -m app.demo -- $(MAKE) --no-print-directory venv

# The Docker SDK and what it needs: app/demo.py begins with these, and brings the others beside Docker itself.
FIRST := docker requests urllib3 certifi charset-normalizer idna

.PHONY: chaos-run
chaos-run: engine venv ## Set everything up and run the default suite (SCENARIO= VERSION= SEED= REPEAT= narrow it)
	$(CHAOS) setup $(if $(VERSION),--versions $(VERSION))
	$(CHAOS) suite $(OPTIONS)

.PHONY: nightly
nightly: engine venv ## Every case on every line, other releases each night, and a part of the audit's cells; resumable (JOBS= MINUTES= change 3, 170)
	$(CHAOS) setup --versions $(or $(VERSION),all)
	$(CHAOS) matrix --scenarios $(or $(SCENARIO),all) --versions $(or $(VERSION),all) --runs-dir runs/nightly \
	  --jobs $(JOBS) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(REPEAT),--repeat $(REPEAT)) || status=$$?; \
	$(BIN)/python -m app.audit_matrix nightly --runs-dir runs/nightly-audit --jobs $(JOBS) $(NARROWED) || status=$$?; \
	exit $${status:-0}

.PHONY: audit
audit: venv ## What producers' settings risk, on the bundled examples (PATHS= names others)
	@for path in $(or $(PATHS),$(wildcard audit/examples/*/)); do echo "== $$path"; $(CHAOS) audit "$$path"; echo; done

.PHONY: audit-matrix
audit-matrix: engine venv ## The audit's matrix measured anew, in runs/audit-matrix; started again, it goes on (FAULT= VERSION= REPEAT= JOBS=)
	$(CHAOS) setup --versions $(or $(VERSION),$(MEASURED))
	$(BIN)/python -m app.audit_matrix measure --jobs $(JOBS) $(if $(FAULT),--faults $(FAULT)) \
	  $(if $(VERSION),--versions $(VERSION)) $(if $(REPEAT),--repeat $(REPEAT))

.PHONY: bench-recorder
bench-recorder: setup ## What recording costs, beside clients that do not record and Kafka's own
	$(BIN)/python -m benchmarks.recorder

.PHONY: bench-replicas
bench-replicas: venv ## How fast replicas are compared, beside reading and checksumming the same files
	$(BIN)/python -m benchmarks.replicas

.PHONY: bench-audit
bench-audit: venv ## What reading configuration costs, start-up included, beside parsing the same files
	$(BIN)/python -m benchmarks.audit

.PHONY: bench-analysis
bench-analysis: venv ## What the check of a history costs as it grows, beside one anti-join in DuckDB (SIZES= narrows it)
	$(BIN)/python -m benchmarks.analysis --plot docs/analysis-growth.svg $(if $(SIZES),--sizes $(SIZES)) $(if $(SMALL),--small $(SMALL))

.PHONY: doctor
doctor: venv ## What works on this machine, what is missing, what to do
	$(CHAOS) doctor

.PHONY: clean
clean: venv ## Remove containers, networks and live data that dead harnesses left
	$(CHAOS) clean

##@ Develop

.PHONY: setup
setup: engine venv ## The virtual environment, Docker, Java and the images of the default suite (or VERSION=)
	$(CHAOS) setup $(if $(VERSION),--versions $(VERSION))

.PHONY: setup-tests
setup-tests: engine venv ## What tests need: Docker, Java, and the images of the versions that tests use (tests/releases.py)
	$(CHAOS) setup --versions $$($(BIN)/python -m tests.releases)

.PHONY: test
test: setup-tests lint ## Everything: lint, types, unit, analysis (Spark) and integration tests (TESTS= narrows it)
ifdef TESTS
	$(BIN)/pytest $(TESTS)
else
	$(BIN)/pytest $(PARALLEL) -m "$(UNIT)" $(if $(COVERAGE),--cov --cov-report=) || status=$$?; \
	$(if $(COVERAGE),$(BIN)/python -m tests.covered || status=$$?;) \
	$(BIN)/pytest -m "not ($(UNIT))" || status=$$?; \
	exit $${status:-0}
endif

.PHONY: test-bare
test-bare: ## demo, chaos-run and test, each on a bare Debian machine with its own engine (DEBIAN=12 or 13 narrows it)
	bash tests/bare/run $(DEBIAN)

.PHONY: sabotage
sabotage: setup-tests ## Does anything wrong pass? Sabotages fresh runs and their files, and writes docs/sabotage.md
	$(BIN)/python -m tests.sabotage

.PHONY: unit
unit: venv ## The tests that need neither Docker nor Spark
	$(BIN)/pytest $(PARALLEL) -m "$(UNIT)"

.PHONY: docs
docs: venv ## The generated pages of docs/ anew (RUNS= counts anew what these run directories, or folders of them, are of)
	$(CHAOS) guide $(RUNS)
	$(BIN)/python -m app.audit_page
	$(BIN)/python -m pages.faults

.PHONY: lint
lint: venv ## Style and types
	$(BIN)/ruff check .
	$(BIN)/mypy

.PHONY: lock
lock: ## Resolve the Python dependencies again (wants uv on the PATH)
	$(COMPILE) --group build -o requirements-build.lock
	$(COMPILE) --group dev -o requirements.lock pyproject.toml

COMPILE := env -u PIP_FIND_LINKS -u UV_FIND_LINKS uv pip compile --quiet --python-version 3.11 --python-platform linux \
  --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'

.PHONY: help
help: ## This list
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	      /^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Before anything else, so that a machine that cannot run clusters says so at once.
.PHONY: engine
engine:
	@bash .ci/engine "$(PYTHON)"

# The environment is made again only when the lock changes; the project in it when its own description does.
.PHONY: venv
venv: $(VENV)/.project

$(VENV)/.locked: requirements-build.lock requirements.lock
	@bash .ci/venv "$(PYTHON)" "$(VENV)"
	@touch $@

$(VENV)/.project: $(VENV)/.locked pyproject.toml
	@env -u PIP_FIND_LINKS $(BIN)/pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --editable .
	@touch $@
