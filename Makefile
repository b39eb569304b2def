# The commands of this project. `make help` lists them; CI runs `.ci/run`, which is `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/stamp
TYPED := src tests/core tests/house tools bench demo
QUICK := $(addprefix tests/,core house permissions render config llm tools executor)
CORES = $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)')
# Most tests wait, for programs and for the disk: with one worker for each processor it is idle most of the time.
WORKERS = $(shell expr 3 \* $(CORES))

# Debian packages that Assent and its tests use, as program:package.
PROGRAMS := bwrap:bubblewrap prlimit:util-linux git:git strace:strace rg:ripgrep fdfind:fd-find \
	jq:jq tree:tree file:file column:bsdextrautils gawk:gawk mawk:mawk xxd:xxd openssl:openssl \
	mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs losetup:mount fusermount3:fuse3 less:less tmux:tmux \
	/usr/bin/python3:python3 node:nodejs curl:curl chromium:chromium groff:groff-base \
	zsh:zsh fish:fish
MISSING = $(foreach pair,$(PROGRAMS),$(if $(shell command -v $(firstword $(subst :, ,$(pair))) \
	2>/dev/null),,$(lastword $(subst :, ,$(pair)))))

PIN := uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links

# Without its caches every start would compile the program and the tests.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup system pins fmt lint quick test suite screens bench mutants demo docs

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## make or refresh the virtual environment in .venv

$(STAMP): requirements-dev.txt pyproject.toml
	@echo "Setting up $(VENV): creates the environment, then installs the pinned packages (about a minute)."
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed.")'
	@test -x $(BIN)/python || { echo "1/3 creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "2/3 installing pinned packages from requirements-dev.txt"
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.txt
	@echo "3/3 installing Assent from this checkout"
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

system: ## install missing Debian packages (bubblewrap, git, ripgrep ...); needs root and apt
	@missing="$(strip $(MISSING))"; \
	if [ -z "$$missing" ]; then \
		echo "No package is missing."; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	else \
		echo "Missing: $$missing. Install them by hand; tests that need them cannot pass."; \
	fi

pins: ## compile the pinned requirements anew (needs uv)
	@$(PIN) pyproject.toml -o requirements.txt
	@$(PIN) pyproject.toml requirements-dev.in -o requirements-dev.txt
	@$(PIN) requirements-release.in -o requirements-release.txt

fmt: $(STAMP) ## format the code and mend what ruff can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

quick: $(STAMP) ## the quick gate, about two minutes: lint, then everything that only computes
	@$(MAKE) --no-print-directory lint
	$(BIN)/pytest --workers $(CORES) --hypothesis-profile=few $(QUICK)
	@$(BIN)/python tools/advice.py

lint: $(STAMP) ## format, rules, types and floors
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/mypy --strict $(TYPED)
	$(BIN)/lint-imports --no-logo

test: ## everything: lint, and the whole suite beside it
	@$(if $(strip $(MISSING)),echo "Installing Debian packages if possible: $(strip $(MISSING))"; $(MAKE) -s system >/dev/null || true)
	@$(MAKE) --no-print-directory -j2 lint suite

suite: $(STAMP)
	$(BIN)/pytest --workers $(WORKERS)

screens: $(STAMP) ## compare pictures of the terminal UI at every size (ASSENT_SNAPSHOTS=accept keeps new ones); draw light ones and the pages
	ASSENT_SNAPSHOTS=$${ASSENT_SNAPSHOTS:-all} $(BIN)/pytest --workers $(CORES) tests/tui/test_snapshots.py
	$(BIN)/python tools/pictures.py --all

bench: $(STAMP) ## measure speed against the budgets
	$(BIN)/python -m bench.run

mutants: $(STAMP) ## plant faults in permissions, sandbox and executor; name those that no test notices (an hour or two)
	$(BIN)/python tools/mutants.py --workers $(CORES)

demo: $(STAMP) ## play the demonstration from end to end
	$(BIN)/python -m demo.play

docs: $(STAMP) ## write the generated parts of the documentation anew
	$(BIN)/python tools/docs.py
	$(BIN)/python tools/man.py
	$(BIN)/python tools/terminal.py
