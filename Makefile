# Espalier. `make` alone prints what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo demo-local demo-down test lint unit molecule setup lab lab-ssh lab-down bench-rack docs clean

SYSTEM := $(shell uname -s)
BIN := .venv/bin
export ESPALIER_LAB ?= demo
HOST ?= mac1
ROLE_DOCS := $(BIN)/python tools/role_docs.py

help: ## print this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## a rack of (simulated) Macs, set up, trained on and measured: build/demo/report.html. On a Mac: demo-local
ifeq ($(SYSTEM),Darwin)
	@$(MAKE) --no-print-directory demo-local
else
	@python=$$(tools/bootstrap.sh python) && exec "$$python" tools/demo.py
endif

demo-local: ## two ranks on this machine, no rack, no root: build/demo-local/report.html
	@python=$$(tools/bootstrap.sh python) && exec "$$python" tools/demo.py --local

demo-down: ## remove the rack of the demo; the report and the cached image stay
	@python=$$(tools/bootstrap.sh python) && exec "$$python" molecule/lab/rack.py down --name "$(ESPALIER_LAB)"

test: lint unit demo-local molecule ## all that continuous integration runs: linters, unit tests, demo-local, molecule scenarios

setup: ## install what the rack and the tests need (Debian packages, .venv)
	@tools/bootstrap.sh rack

lint: setup ## ansible-lint, yamllint, ruff, mypy, shellcheck, generated docs
	@tools/lint.sh

unit: setup ## pytest
	@$(BIN)/pytest

molecule: setup ## every molecule scenario, one shared rack named "molecule"
	@tools/molecule.sh

lab: setup ## make the rack alone; then: ansible-playbook site.yml
	@$(BIN)/python molecule/lab/rack.py up --name "$(ESPALIER_LAB)"

lab-ssh: ## log in to a node of the rack: make lab-ssh HOST=mac1
	@$(BIN)/python molecule/lab/rack.py ssh --name "$(ESPALIER_LAB)" $(HOST)

lab-down: demo-down ## the same as demo-down

bench-rack: setup ## measure the targets of the rack: build/bench/rack.json
	@$(BIN)/python -m tools.bench.rack

docs: setup ## regenerate the tables of the roles' READMEs
	@$(ROLE_DOCS)

clean: demo-down ## remove the rack, build/ and the caches of the linters (the virtual environment stays)
	@rm -rf build .mypy_cache .ruff_cache .pytest_cache .hypothesis .ansible
