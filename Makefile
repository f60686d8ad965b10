# All development commands; CI runs the same ones. `make` lists them.
# Needs Python 3.11 or newer with venv and pip, a Rust toolchain, a C compiler and make.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# To select an interpreter: make test PYTHON=python3.12 (run `make clean` first if .venv exists)
NEWER := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c '$(NEWER)' 2> /dev/null && echo "$$p" && break; done)

# maturin and PyO3's build script read these; the extension never links to libpython.
export VIRTUAL_ENV := $(CURDIR)/.venv
export PATH := $(VIRTUAL_ENV)/bin:$(PATH)
export UV_CONSTRAINT := $(CURDIR)/constraints.txt
export PYO3_PYTHON := $(VIRTUAL_ENV)/bin/python
export PYO3_BUILD_EXTENSION_MODULE := 1
# Keep .pyc files: tests start many processes, and each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

# Empty files that record completed steps. They are in .venv, and are removed with it.
STAMPS := .venv/.stamps
# Cargo's profile for tests, lints and generators; it shares compiled dependencies with the extension.
CHECKED := --profile bench
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
EXTENSION := $(STAMPS)/extension
# The command that `seqloom run` starts; it is copied next to the extension.
PROGRAM := $(STAMPS)/program

##@ Use

.PHONY: demo
demo: $(EXTENSION) ## Train on real splice sites and write a report (installs no torch)
	seqloom demo

.PHONY: wheel
wheel: $(STAMPS)/dev ## Build the wheel for Linux on x86-64, and test it on every installed CPython
	rm -rf dist
	tests/wheel/build x86_64-unknown-linux-gnu
	python tests/wheel/smoke.py dist

# zig cross-compiles the wheels. To select targets: make wheels TARGETS=aarch64-apple-darwin
TARGETS := x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl \
	aarch64-unknown-linux-musl aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-gnu
.PHONY: wheels
wheels: $(STAMPS)/dev ## Build the wheels for all systems, and test those that run on this machine
	rm -rf dist
	for target in $(TARGETS); do tests/wheel/build "$$target"; done
	python tests/wheel/smoke.py dist

.PHONY: web
web: $(EXTENSION) ## Build the page that runs models in a browser (web/dist)
	web/build

##@ Check

.PHONY: check
check: lint docs test ## Run lint, docs and test, like CI

PYTEST := pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder --max-worker-restart 0
.PHONY: test
test: $(STAMPS)/dev $(EXTENSION) $(PROGRAM) ## Run all tests (some with a sample of their cases) and examples; to select: make test ARGS='tests/io -x'
	$(PYTEST) $(ARGS)
	$(if $(ARGS),,cargo test $(CHECKED) --quiet --workspace --exclude seqloom-py)

.PHONY: soak
soak: $(STAMPS)/dev $(EXTENSION) $(PROGRAM) ## Run the cases that `make test` skips, and long tests: kills, memory, other instruction sets
	pytest tests/soak -m '' -rs $(ARGS)
	$(if $(ARGS),,$(PYTEST) -m soak --ignore tests/conformance)

.PHONY: mutants
mutants: $(STAMPS)/dev $(EXTENSION) $(PROGRAM) ## Apply single changes to the source, and list those that no test detects (needs cargo-mutants, cosmic-ray)
	tests/soak/check-mutants $(ARGS)

.PHONY: oldest
oldest: $(STAMPS)/dev $(EXTENSION) ## Run tests with the oldest supported versions of dependencies
	tests/soak/check-oldest $(ARGS)

.PHONY: unsafe
unsafe: ## Test crates with unsafe code under Miri and the address sanitizer (needs nightly Rust)
	tests/soak/check-unsafe

.PHONY: arm
arm: $(STAMPS)/dev ## Download qemu and an arm64 Python from Debian, with which `make soak` tests AArch64
	tests/soak/prepare-aarch64

.PHONY: lint lint-python lint-rust lint-crates lint-stub
lint: lint-python lint-rust lint-crates lint-stub ## Check format, lints, types, import layers, crates and stubs; change nothing

lint-python: $(STAMPS)/dev $(EXTENSION)
	ruff format --check --quiet
	ruff check --quiet
	basedpyright --warnings --threads 2
	lint-imports --no-cache --no-logo
	python tests/measure_code.py --check
	python tests/measure_prose.py --check

lint-rust: $(STAMPS)/base
	cargo fmt --all --check
	cargo clippy $(CHECKED) --workspace --all-targets --features seqloom-py/stubs,seqloom-c/header --quiet -- -D warnings
	! cargo tree --workspace --exclude seqloom-py --edges normal --prefix none | grep '^pyo3'
	cargo run $(CHECKED) --quiet --package seqloom-c --features header --bin header_gen -- .venv/seqloom.h
	diff .venv/seqloom.h $(HEADER) || { echo 'The C header is outdated: run make stubs'; exit 1; }

# Reports, for example, functions that Windows or macOS does not have.
.PHONY: lint-systems
lint-systems: $(STAMPS)/dev $(EXTENSION) ## Check the types for Windows and macOS
	basedpyright --warnings --pythonplatform Windows python/seqloom
	basedpyright --warnings --pythonplatform Darwin python/seqloom

# Checks licences, duplicate versions and sources of crates (deny.toml), and that each crate can be
# packaged. Checks advisories if a copy of RustSec's database exists: `make audit` downloads it, and
# `make lint ADVISORIES=folder` uses a local clone.
ADVISORY_DATABASE := target/advisories/advisory-db-3157b0e258782691
DENY := cargo deny --locked --config deny.toml
DENY_CHECK := check --hide-inclusion-graph $(addprefix --allow ,license-exception-not-encountered \
	license-not-encountered unmatched-skip-root unnecessary-skip) licenses bans sources
lint-crates: $(STAMPS)/dev
	$(DENY) $(DENY_CHECK)
	$(DENY) --manifest-path fuzz/Cargo.toml $(DENY_CHECK)
	cargo package --workspace --allow-dirty --no-verify --offline --quiet
	@mkdir -p target/advisories
	$(if $(ADVISORIES),ln -sfn '$(realpath $(ADVISORIES))' $(ADVISORY_DATABASE))
	@if [[ -d $(ADVISORY_DATABASE) ]]; then $(DENY) --offline check advisories; \
	else echo 'skipped: advisories (no database: run make audit, or set ADVISORIES to a clone of it)'; fi

.PHONY: audit
audit: $(STAMPS)/dev ## Download the RustSec advisories, and check every crate against them
	@if [[ -L $(ADVISORY_DATABASE) ]]; then rm $(ADVISORY_DATABASE); fi
	@mkdir -p target/advisories
	$(DENY) fetch db
	$(DENY) --offline check advisories

lint-stub: $(STAMPS)/dev $(EXTENSION)
	cargo run $(CHECKED) --quiet --package seqloom-py --features stubs --bin stub_gen -- .venv/_native.pyi
	diff .venv/_native.pyi $(STUB) || { echo 'The type stub is outdated: run make stubs'; exit 1; }
	python tests/write_signatures.py .venv/table.rs
	diff .venv/table.rs $(SIGNATURES) || { echo 'The table of operations is outdated: run make stubs'; exit 1; }
	python -m mypy.stubtest --mypy-config-file pyproject.toml seqloom._rust._native

.PHONY: docs
docs: $(STAMPS)/dev $(EXTENSION) $(PROGRAM) ## Execute the notebooks, and build site/ and target/doc; broken links are errors
	RUSTDOCFLAGS='-D warnings' cargo doc $(CHECKED) --workspace --no-deps --quiet
	python -m notebooks
	SEQLOOM_BUILT="seqloom $$(python -c 'import seqloom; print(seqloom.__version__)'), built $$(date -u +%F)" \
		zensical build --clean --strict

.PHONY: fuzz
fuzz: $(STAMPS)/dev $(EXTENSION) ## Test every parser with random bytes: make fuzz [SECONDS_EACH=20]
	fuzz/run

.PHONY: faults
faults: $(STAMPS)/dev $(EXTENSION) $(PROGRAM) ## Make each file system call fail, check the results, and update docs/reliability.md
	python -m faults --publish

.PHONY: bench
bench: $(STAMPS)/bench $(EXTENSION) ## Compare the speed of seqloom and other libraries: make bench [SUITE=name] [SIMD=avx2] [QUICK=1] [AGAINST=commit]
	python -m benchmarks $(SUITE) $(addprefix --simd ,$(SIMD)) $(if $(QUICK),--quick) $(addprefix --against ,$(AGAINST))

.PHONY: gpu-kit
gpu-kit: $(STAMPS)/dev $(EXTENSION) ## Create gpu/, which runs tests and benchmarks on a GPU machine without a network: gpu/run OUT
	python -m benchmarks.gpu kit gpu

##@ Edit

.PHONY: fmt
fmt: $(STAMPS)/dev ## Format the code, and apply automatic fixes
	cargo fmt --all
	ruff check --fix-only --quiet
	ruff format --quiet

.PHONY: pictures
pictures: $(STAMPS)/dev web ## Update the pictures in docs/assets (needs Chromium)
	python tests/web/write_pictures.py

STUB := python/seqloom/_rust/_native.pyi
HEADER := crates/seqloom-c/include/seqloom.h
SIGNATURES := crates/seqloom-graph/src/graph/table.rs
.PHONY: stubs
stubs: $(EXTENSION) ## Generate the type stub of the extension, the C header, and the table of operations in Rust
	cargo run $(CHECKED) --quiet --package seqloom-c --features header --bin header_gen -- $(HEADER)
	cargo run $(CHECKED) --quiet --package seqloom-py --features stubs --bin stub_gen -- $(STUB)
	python tests/write_signatures.py $(SIGNATURES)

.PHONY: pins
pins: $(STAMPS)/venv ## Update constraints.txt to the newest versions of all packages
	env -u UV_CONSTRAINT uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header --no-emit-index-url \
		--extra cloud --extra h5 --extra jax --extra monitor --extra onnx --extra parquet --extra ray --extra sparse --extra torch --group bench --group frameworks \
		--output-file constraints.txt pyproject.toml

.PHONY: clean
clean: ## Remove everything that the other commands created, including .venv and caches
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache dist docs/notebooks gpu seqloom-demo site target web/dist python/seqloom/_rust/*.so python/seqloom/_rust/seqloom-run
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## List the commands
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { print "\n" substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

# .venv is built in this order: Python, the dependencies of the demo, the extension, other packages.
# uv checks the hash of each wheel (UV_CONSTRAINT). It builds no source packages, which could run code.
INSTALL := uv pip install --quiet --no-build --requirements pyproject.toml

$(STAMPS)/venv:
	@test -n '$(PYTHON)' || { echo 'seqloom needs Python 3.11 or newer: make PYTHON=/path/to/python3'; exit 1; }
	'$(PYTHON)' -c '$(NEWER)' || \
		{ echo '$(PYTHON) does not start, or is older than Python 3.11: make PYTHON=/path/to/python3'; exit 1; }
	'$(PYTHON)' -m venv .venv
	@mkdir -p $(STAMPS) && sed -n '/^uv==/,/[^\\]$$/p' constraints.txt > $(STAMPS)/uv.txt
	python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
		--requirement $(STAMPS)/uv.txt
	@touch $@

$(STAMPS)/base: constraints.txt pyproject.toml | $(STAMPS)/venv
	$(INSTALL) --group build
	@touch $@

$(STAMPS)/dev: constraints.txt pyproject.toml | $(STAMPS)/base
	$(INSTALL) --extra cloud --extra h5 --extra jax --extra parquet --extra sparse \
		--extra torch --group dev --group frameworks
	@touch $@

$(STAMPS)/bench: constraints.txt pyproject.toml | $(STAMPS)/dev
	$(INSTALL) --group bench
	@touch $@

$(EXTENSION): $(RUST) pyproject.toml | $(STAMPS)/base
	uv pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Built after the extension, because they share compiled crates. `make wheel` builds a smaller program,
# which takes longer.
$(PROGRAM): $(RUST) | $(STAMPS)/base
	cargo build --quiet --release --package seqloom-run
	cp target/release/seqloom-run python/seqloom/_rust/
	@touch $@
