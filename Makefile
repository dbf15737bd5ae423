# Everything works from a fresh clone with Python 3.10, 3.11 or 3.12 and nothing else;
# the Flink target also needs a JDK 17.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PYTEST := -m pytest --numprocesses auto --dist loadfile

# The newest release of the host downloads Java parts while it is built. Without
# them everything works but Flink itself.
export FLINK_AGENTS_SKIP_JAR_DOWNLOAD ?= 1

.PHONY: help setup demo test coverage lint types test-wheel test-oldest test-oldest-telemetry test-host test-flink test-cluster test-beside test-mcp backends test-backends slow fuzz bench clean

help:  ## List the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml requirements/newest.txt
	scripts/environment $(VENV) requirements/newest.txt "$(PYTHON)" editable
	@touch $@

demo: setup  ## Run a real agent and show its trace and its log.
	@$(BIN)/python examples/demo.py

test: setup  ## Run the tests.
	$(BIN)/python $(PYTEST)

coverage: setup  ## Run the tests and show which lines they reach.
	$(BIN)/python -m coverage run -m pytest
	$(BIN)/python -m coverage report

lint: setup  ## Check style and format.
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup  ## Check types.
	$(BIN)/mypy

test-wheel:  ## Run the tests against the built wheel in a clean environment.
	scripts/environment .cache/wheel requirements/newest.txt "$(PYTHON)" wheel
	.cache/wheel/bin/python $(PYTEST) tests

test-oldest:  ## Run the tests on the oldest supported versions.
	scripts/environment .cache/oldest requirements/oldest.txt "$(PYTHON)" editable
	.cache/oldest/bin/python $(PYTEST) tests

TELEMETRY := $(addprefix tests/instrumentation/test_,sequence.py replayed_live.py metrics.py content.py)

test-oldest-telemetry:  ## Compare the traces of the newest host on the oldest OpenTelemetry.
	scripts/environment .cache/oldest-telemetry requirements/oldest-telemetry.txt "$(PYTHON)" editable
	.cache/oldest-telemetry/bin/python $(PYTEST) $(TELEMETRY)

test-host: setup  ## Run the host's own tests with and without us; outcomes must be equal.
	$(BIN)/python tests/host_outcomes.py

test-flink:  ## Run a real job on Flink's mini cluster.
	scripts/environment .cache/flink requirements/flink.txt "$(PYTHON)" editable
	.cache/flink/bin/python -m pytest tests/flink

test-cluster:  ## Run jobs on a standalone cluster; a task manager is killed.
	scripts/environment .cache/flink requirements/flink.txt "$(PYTHON)" editable
	.cache/flink/bin/python -m pytest tests/cluster

test-beside:  ## Run the tests with other instrumentations installed beside ours.
	scripts/environment .cache/beside requirements/beside.txt "$(PYTHON)" editable beside
	.cache/beside/bin/python -m pytest tests/beside

MCP := tests/instrumentation/test_mcp.py

test-mcp:  ## Run the tests of MCP on older versions of its SDK.
	scripts/environment .cache/mcp-1.8 requirements/mcp-1.8.txt "$(PYTHON)" editable
	.cache/mcp-1.8/bin/python -m pytest $(MCP)
	scripts/environment .cache/mcp-1.19 requirements/mcp-1.19.txt "$(PYTHON)" editable
	.cache/mcp-1.19/bin/python -m pytest $(MCP)

# Built once; Go's own caches make a second time short.
JAEGER := .cache/jaeger/jaeger
COLLECTOR := .cache/collector/otelcol

backends: $(JAEGER) $(COLLECTOR)  ## Build Jaeger and a Collector from Go modules.

$(JAEGER): scripts/jaeger tests/backends/jaeger/go.mod
	scripts/jaeger $(@D)
	@touch $@

$(COLLECTOR): scripts/collector tests/backends/collector/builder.yaml
	scripts/collector
	@touch $@

test-backends: setup backends  ## Run real Jaegers and Collectors with collector-config.
	$(BIN)/python -m pytest tests/backends

slow: setup  ## Run the tests that take long: lines of 300 MB, a log of 100,000 spans.
	$(BIN)/python -m pytest tests/slow

FUZZ_SECONDS ?= 60
fuzz:  ## Fuzz every command that reads logs, guided by coverage.
	scripts/environment .cache/fuzz requirements/newest.txt "$(PYTHON)" editable fuzz
	@mkdir -p .cache/fuzz-corpus
	.cache/fuzz/bin/python tests/fuzz/harness.py .cache/fuzz-corpus -max_len=8192 \
		-timeout=30 -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=.cache/fuzz-corpus/

bench: setup  ## Measure what the instrumentation costs, as ratios.
	$(BIN)/python -m benchmarks

clean:  ## Remove everything that the targets made.
	rm -rf .venv .cache dist demo-log .coverage
