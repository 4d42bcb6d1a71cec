# Everything a person or a CI job runs. Bare `make` says what there is.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Compiled modules are kept, whatever the shell says: without them each process of a test compiles the program, its tests
# and its packages anew, and a worker takes three times as long to collect its tests.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CHAOS := $(BIN)/kafka-chaos

# What `make chaos-run` is narrowed to; lists are separated by spaces.
SCENARIO ?=
VERSION ?=
SEED ?=
REPEAT ?=
# How many runs `make nightly` has at the same time, and after how many minutes it (170) or `make test-rest` begins no more.
JOBS ?= 3
MINUTES ?=
# What `make test` and `make unit` are narrowed to: files, directories or tests, as pytest takes them.
TESTS ?=
# Which part of how many `make test-rest` runs (2/3), after how many minutes it begins no more tests, and where it begins.
SHARD ?=
TURN ?=
# The commit that `make statements` compares with.
OLD ?=
# Run directories, or folders of them, that `make docs` tells in full, `make ledger` enters and `make evidence` packs.
RUNS ?=
# What `make audit` reads, in place of the bundled examples.
PATHS ?=
# What `make audit-matrix`, and the audit's part of `make nightly`, are narrowed to: faults of docs/audit-matrix.md.
FAULT ?=
# The versions that the audit's cells are measured on.
MEASURED = $(shell $(BIN)/python -c 'import results; print(*results.MEASURED_ON.values())')
NARROWED = $(if $(FAULT),--faults $(FAULT)) $(if $(filter $(VERSION),$(MEASURED)),--versions $(filter $(VERSION),$(MEASURED)))
# The versions that the museum's bugs are shown on.
AFFECTED = $(shell $(BIN)/python -m pages.recall releases)
# Which mutants `make mutants` runs (tests/mutants/registry.py).
MUTANTS ?=
# Which machines `make test-bare` makes: releases of Debian.
DEBIAN ?= 12 13
# What `make bench-analysis` measures, in millions of records.
SIZES ?=
# How many small partitions it measures, in place of all else.
SMALL ?=
# The environment of `make lint` is its own: style and types need neither Spark nor most other packages.
LINT := $(VENV)-lint
# Tests of a file stay on one process, so that what they share is made once.
PARALLEL := -n auto --maxprocesses 8 --dist loadfile
# Tests on real brokers mostly wait for sessions to end, so two of them run at a time on two cores; those that share a
# cluster stay together (xdist_group), and all begin in the order of CONTRIBUTING.md's table.
TWO := -n 2 --dist loadgroup --no-loadscope-reorder -v
# Of several that run side by side, each line says whose it is. What labels them hears no Ctrl-C: it ends with what it labels.
named = $(if $(SIDE),2>&1 | (trap '' INT TERM; exec sed -u 's/^/$(1) | /'))
OPTIONS = $(if $(SCENARIO),--scenarios $(SCENARIO)) $(if $(VERSION),--versions $(VERSION)) \
          $(if $(SEED),--seed $(SEED)) $(if $(REPEAT),--repeat $(REPEAT))

##@ Run

.PHONY: demo
demo: engine ## A first verdict and its report, from a bare machine in about 3 minutes: double-failover on 0.10.2.2
	@[ -e $(VENV)/.locked ] || bash .ci/venv "$(PYTHON)" "$(VENV)" requirements.lock $(FIRST)
	@$(BIN)/python -m app.demo -- $(MAKE) --no-print-directory venv

.PHONY: runner
runner: engine ## The program as an image, for engines without root, CI and macOS (docs/install.md)
	@[ -e $(VENV)/.locked ] || bash .ci/venv "$(PYTHON)" "$(VENV)" requirements.lock $(FIRST)
	@$(BIN)/python -m harness.setup.runner_image

# The Docker SDK and what it needs: app/demo.py begins with these, and brings the others beside Docker itself.
FIRST := docker requests urllib3 certifi charset-normalizer idna

.PHONY: chaos-run
chaos-run: engine venv ## Set everything up and run the default suite (SCENARIO= VERSION= SEED= REPEAT= narrow it)
	$(CHAOS) setup $(if $(VERSION),--versions $(VERSION))
	$(CHAOS) suite $(OPTIONS)

.PHONY: nightly
nightly: engine venv ## What the ledger knows least of, and a part of the audit's cells; resumable (JOBS= MINUTES= change 3, 170; SHARD=3/8)
	$(CHAOS) setup --versions $(or $(VERSION),all)
	$(CHAOS) matrix --scenarios $(or $(SCENARIO),all) --versions $(or $(VERSION),all) --runs-dir runs/nightly \
	  --jobs $(JOBS) --retain interesting --plan $(if $(SHARD),--shard $(SHARD)) --minutes $(or $(MINUTES),170) $(if $(SEED),--seed $(SEED)) $(if $(REPEAT),--repeat $(REPEAT)) || status=$$?; \
	$(BIN)/python -m app.audit_matrix nightly --runs-dir runs/nightly-audit --jobs $(JOBS) $(NARROWED) || status=$$?; \
	exit $${status:-0}

.PHONY: audit
audit: venv ## What producers' settings risk, on the bundled examples (PATHS= names others)
	@for path in $(or $(PATHS),$(wildcard audit/examples/*/)); do echo "== $$path"; $(CHAOS) audit "$$path"; echo; done

.PHONY: yardstick
yardstick: venv ## How right the audit is about repositories as people have them (tests/wild): precision, recall, resolution
	$(BIN)/python -m tests.wild

.PHONY: incidents
incidents: venv ## How often kafka-chaos incident names the true cause first, of runs without their names (tests/incidents.py)
	$(BIN)/python -m tests.incidents

.PHONY: audit-matrix
audit-matrix: engine venv ## The audit's matrix measured anew, in runs/audit-matrix; started again, it goes on (FAULT= VERSION= REPEAT= JOBS=)
	$(CHAOS) setup --versions $(or $(VERSION),$(MEASURED))
	$(BIN)/python -m app.audit_matrix measure --jobs $(JOBS) $(if $(FAULT),--faults $(FAULT)) \
	  $(if $(VERSION),--versions $(VERSION)) $(if $(REPEAT),--repeat $(REPEAT))

.PHONY: releases
releases: engine venv ## What is new at Maven Central, and a page of what changed in each new release; resumable (MINUTES= JOBS= REPEAT=)
	$(CHAOS) releases --jobs $(JOBS) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(REPEAT),--repeat $(REPEAT)) $(if $(SCENARIO),--scenarios $(SCENARIO))

.PHONY: bench-recorder
bench-recorder: setup ## What recording costs, beside clients that do not record and Kafka's own
	$(BIN)/python -m benchmarks.recorder

.PHONY: bench-replicas
bench-replicas: venv ## How fast replicas are compared, beside reading and checksumming the same files
	$(BIN)/python -m benchmarks.replicas

.PHONY: bench-audit
bench-audit: venv ## What reading configuration costs, start-up included, beside parsing the same files
	$(BIN)/python -m benchmarks.audit

.PHONY: bench-others
bench-others: setup ## What the check of a history of JSON Lines costs, in one process and on Spark
	$(BIN)/python -m benchmarks.others

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
setup-tests: engine venv ## What all tests need: Docker, Java, and the images of the versions that they use (tests/releases.py)
	$(CHAOS) setup --versions $$($(BIN)/python -m tests.releases)

.PHONY: test
ifdef TESTS
test: setup-tests ## Lint, types, unit tests, and of each kind of test on Spark and on real brokers a few (TESTS= narrows it)
	$(BIN)/pytest $(TESTS)
else
test: engine
	@$(MAKE) --no-print-directory --jobs=3 --keep-going SIDE=1 lint unit brokers
endif

# The part of `make test` that needs Docker and Spark.
.PHONY: brokers
brokers: engine venv
	$(CHAOS) setup --versions $$($(BIN)/python -m tests.releases test) $(call named,brokers)
	$(BIN)/pytest $(TWO) --tier test $(call named,brokers)

.PHONY: test-rest
test-rest: setup-tests ## The tests that `make test` leaves out (SHARD=1/3 MINUTES=25 TURN=7 narrow and order them)
	$(BIN)/pytest $(TWO) --tier rest $(if $(SHARD),--shard $(SHARD)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(TURN),--turn $(TURN))

.PHONY: test-nightly
test-nightly: engine venv ## All tests on all releases, property tests with ten times as many examples
	$(CHAOS) setup --versions all
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest $(PARALLEL) --tier unit --timeout 3600 || status=$$?; \
	HYPOTHESIS_PROFILE=thorough KAFKA_CHAOS_SEGMENTS=all $(BIN)/pytest $(TWO) --tier test --tier rest --timeout 3600 || status=$$?; \
	exit $${status:-0}

.PHONY: test-bare
test-bare: ## demo, chaos-run and test, each on a bare Debian machine with its own engine (DEBIAN=12 or 13 narrows it)
	bash tests/bare/run $(DEBIAN)

.PHONY: test-runner
test-runner: runner ## The runner's image, used as docs/install.md says, on this machine's engine
	bash tests/runner/run

.PHONY: test-rootless
test-rootless: runner venv ## The same on a rootless engine, which is started and ended (as an ordinary user)
	bash tests/runner/rootless

.PHONY: sabotage
sabotage: setup-tests ## Does anything wrong pass? Sabotages fresh runs and their files, and writes docs/sabotage.md
	$(BIN)/python -m tests.sabotage

.PHONY: planted
planted: engine venv ## Does compare tell a planted regression, and nothing else? Whole nights of own builds; resumable (JOBS=)
	$(CHAOS) setup --versions 4.3.1
	$(BIN)/python -m tests.planted all --jobs $(JOBS)
	$(BIN)/python -m tests.planted keep

.PHONY: mutants
mutants: engine venv ## Would it notice a broken Kafka? Runs of brokers with one method changed; resumable (MUTANTS= SCENARIO= VERSION= JOBS= narrow it)
	$(CHAOS) setup --versions $(or $(VERSION),2.8.2 4.3.1)
	$(BIN)/python -m tests.mutants measure --jobs $(JOBS) $(if $(MUTANTS),--mutants $(MUTANTS)) \
	  $(if $(SCENARIO),--scenarios $(SCENARIO)) $(if $(VERSION),--versions $(VERSION))

.PHONY: recall
recall: engine venv ## The default suite on the releases that have the museum's bugs: does it find them? Resumable (SCENARIO= VERSION= JOBS=)
	$(CHAOS) setup --versions $(or $(VERSION),$(AFFECTED))
	$(CHAOS) suite $(if $(SCENARIO),--scenarios $(SCENARIO)) --versions $(or $(VERSION),$(AFFECTED)) --jobs $(JOBS) --runs-dir runs/recall

.PHONY: unit
unit: venv ## The tests that need neither Docker nor Spark (TESTS= narrows it)
	nice -n 5 $(BIN)/pytest $(PARALLEL) --tier unit $(TESTS) $(call named,unit)

.PHONY: again
again: ## The tests of the set-up in a make within a make, as another Makefile would call it
	$(MAKE) unit TESTS=tests/unit/setup

.PHONY: coverage
coverage: venv ## The unit tests, and how much of the product they run
	$(BIN)/pytest $(PARALLEL) --tier unit --cov --cov-report=
	$(BIN)/python -m tests.covered

.PHONY: docs
docs: venv ## The generated pages of docs/ anew (RUNS= tells one of these run directories, or of folders of them, in full)
	$(CHAOS) guide $(RUNS)
	$(BIN)/python -m app.audit_page
	$(BIN)/python -m pages.readme
	$(BIN)/python -m pages.trust
	$(BIN)/python -m pages.upgrades
	$(BIN)/python -m pages.faults
	$(BIN)/python -m pages.recall
	$(BIN)/python -m pages.ledger
	$(CHAOS) ledger coverage --markdown > docs/coverage.md
	$(BIN)/python -m app.gone
	$(BIN)/python -m pages.schemas

.PHONY: site
site: venv ## The site, as static pages, in site/ (TO= names another folder)
	$(BIN)/python -m pages.site.build $(or $(TO),site)

.PHONY: statements
statements: venv ## Where this commit states more or less about Kafka than another did, or judges otherwise (OLD=, else the last tag)
	$(CHAOS) statements $(OLD)

.PHONY: evidence
evidence: venv ## The small evidence of one run of each cell in RUNS= (default: runs), packed in dist/evidence/ for a release
	$(CHAOS) evidence $(or $(RUNS),runs)

.PHONY: release
release: venv ## What a release consists of, in dist/: wheel, evidence (make evidence), notes, checksums; uploads nothing
	$(BIN)/python -m app.release

.PHONY: ledger
ledger: venv ## results/cells.jsonl anew from results/ledger/, by Spark (RUNS= enters what ran in these folders first)
	$(if $(RUNS),$(CHAOS) ledger merge $(RUNS))
	$(BIN)/python -m analysis.ledger results/ledger --out results/cells.jsonl

.PHONY: lint
lint: $(LINT)/.locked ## Style and types
	nice -n 5 $(LINT)/bin/ruff check . $(call named,lint)
	nice -n 5 $(LINT)/bin/mypy $(call named,lint)

.PHONY: lock
lock: ## Resolve the Python dependencies again (wants uv on the PATH)
	$(COMPILE) --group build -o requirements-build.lock
	$(COMPILE) --group dev --all-extras -o requirements.lock pyproject.toml
	$(COMPILE) --extra run -c requirements.lock -o requirements-run.lock pyproject.toml
	$(COMPILE) --group lint -c requirements.lock $(UNTYPED:%=--no-emit-package %) -o requirements-lint.lock

# What pyspark-client wants and mypy does not read.
UNTYPED := googleapis-common-protos grpcio grpcio-status pandas protobuf pyarrow zstandard
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
	@bash .ci/venv "$(PYTHON)" "$(VENV)" requirements.lock $(call named,venv)
	@touch $@

$(LINT)/.locked: requirements-build.lock requirements-lint.lock
	@bash .ci/venv "$(PYTHON)" "$(LINT)" requirements-lint.lock $(call named,lint)
	@touch $@

$(VENV)/.project: $(VENV)/.locked pyproject.toml
	@$(BIN)/uv pip install --quiet --no-cache --python $(BIN)/python --no-index --no-deps --no-build-isolation --editable .
	@touch $@
