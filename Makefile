# The commands of this repository. They need python3, git and make, and install everything else into .venv.
PYTHON ?= python3
BIN := .venv/bin
SBOM ?= dist/sbom.json
PACKAGES := gateway sandbox client
LOCK := $(BIN)/python -m uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
  --python-version 3.11
INSTALL := $(BIN)/python tools/install_packages.py

.DEFAULT_GOAL := help
.PHONY: help run together containers test check fast fix javascript bench screenshots docs examples hostile tenants shapes lock sbom documents chaos simulate generate clean

help:  ## List the commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile

run: .venv/run  ## Start gateway and sandbox, ready to call; ARGS="--port 9000 --fresh"
	@$(BIN)/connector-gateway dev $(ARGS)

together: .venv/test  ## Start the services of deploy/compose.yaml without containers; ARGS="--port 9000"
	@PYTHONPATH=tests $(BIN)/python -m deploy $(ARGS)

containers: .venv/test  ## Build both images, and run deploy/compose.yaml as containers; needs root, podman, runc and debootstrap
	@CONTAINERS=1 PATH=$(CURDIR)/$(BIN):$$PATH PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -m containers tests/deploy/test_containers.py $(ARGS)

# pytest rewrites the assertions of hundreds of modules. Its bytecode is cached even if PYTHONDONTWRITEBYTECODE is set, or
# each worker would rewrite them at every run.
test: .venv/test  ## Run the whole suite; ARGS="-k notes", WORKERS=4
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(or $(WORKERS),5) --dist loadfile --no-loadscope-reorder $(ARGS)

javascript: .venv/test  ## Test against JavaScript: vendors' SDKs, a generated client, linters, MCP's conformance suite; uses npm
	@JAVASCRIPT=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -m javascript sandbox/tests/guides gateway/tests/agents gateway/tests/browser gateway/tests/clients

check: fast test  ## Run everything that must pass before a commit lands

fast: .venv/docs  ## Run the checks without the suite: format, lint, types, import contracts, generated files, licences, docs
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tools/generate.py --check
	@$(BIN)/pip-licenses --packages $$(sed -n 's/^\([A-Za-z0-9._-]*\)==.*/\1/p' requirements/tracing.txt) > .venv/licences
	@$(MAKE) --silent docs

fix: .venv/test  ## Fix lint errors and format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

generate: .venv/test  ## Write the generated files again
	@$(BIN)/python tools/generate.py

examples: .venv/test  ## Record the example calls of the reference
	@PYTHONPATH=tests $(BIN)/python -m harness.example_calls

screenshots: .venv/test  ## Take the screenshots of the guides; needs Chromium
	@PYTHONPATH=tests $(BIN)/python -m gateway.tests.browser.screenshots

# Folders that pages link to. A folder without a README gets a list of its pages, as code hosts show it.
LISTED := guide reference

docs: .venv/docs  ## Build the documentation site in .site/html; fails on warnings and on anything fetched from elsewhere
	@rm -rf .site && mkdir -p .site/pages
	@find *.md client docs examples gateway sandbox -type f \( -name '*.md' -o -path 'docs/*' -o -path 'sandbox/examples/*' \) | \
	  tar -c -T - | tar -x -C .site/pages
	@cd .site/pages/docs && for folder in $(LISTED); do test -e $$folder/README.md || { cd $$folder && \
	  find . -name '*.md' | sort | while read -r page; do echo "- [$$(sed -n '1s/^# //p' $$page)]($$page)"; done > list && \
	  { printf '# %s pages\n\n' $$folder | sed 's,# .,\U&,'; cat list; } > README.md && rm list && cd ..; }; done
	@find .site/pages -name '*.md' -exec sed -i -E 's#\]\(([./a-z]*/)?($(subst $() ,|,$(LISTED)))\)#](\1\2/README.md)#' {} +
	@$(BIN)/zensical build --clean --strict
	@! grep -rEi '<(script|img|iframe|source)[^>]* src="?(https?:)?//|<link[^>]* href="?(https?:)?//|url\(.?(https?:)?//' \
	  --include=*.html --include=*.css .site/html

bench: .venv/test  ## Run the benchmarks, which compare within one run
	@$(BIN)/python -m benchmarks $(ARGS)

simulate: .venv/test  ## Simulate histories of writes and failures; SEEDS=1000 START=1 PROCESSES=1|2
	@PYTHONPATH=tests PYTHONHASHSEED=0 $(BIN)/python -m simulation --seeds $(or $(SEEDS),1000) --start $(or $(START),1) \
	  $(if $(PROCESSES),--processes $(PROCESSES)) $(ARGS)

chaos: .venv/test  ## Inject failures into gateways, stores and vendors under load; ARGS="--only kill,freeze --seconds 60 --seed 3"
	@PYTHONPATH=tests $(BIN)/python -m chaos $(ARGS)

hostile: .venv/test  ## Attack a gateway and measure the effect on other callers; ARGS="half_bodies"
	@PYTHONPATH=tests $(BIN)/python -m hostile $(ARGS)

tenants: .venv/test  ## Deliver events to random tenants and check that each sees only its own; ARGS="20000 0": histories, first seed
	@PYTHONPATH=tests $(BIN)/python -m hostile.tenant_isolation $(ARGS)

shapes: .venv/test  ## Fuzz every operation for a minute, and list the findings
	@PYTHONPATH=tests $(BIN)/python -m hostile.schemathesis_calls $(ARGS)

lock: .venv/test  ## Lock the dependencies with hashes
	@$(LOCK) --group install -o requirements/uv.txt
	@$(LOCK) --group build gateway/pyproject.toml -o requirements/run.txt
	@$(LOCK) --group build --extra tracing --constraint requirements/run.txt gateway/pyproject.toml -o requirements/tracing.txt
	@$(LOCK) --group build --group test gateway/pyproject.toml -o requirements/test.txt
	@$(LOCK) --constraint requirements/test.txt --group docs -o requirements/docs.txt

sbom: .venv/test  ## Write the software bill of materials as CycloneDX JSON; SBOM=dist/sbom.json
	@mkdir -p $(dir $(SBOM))
	@$(BIN)/python -W ignore -m cyclonedx_py requirements --pyproject gateway/pyproject.toml --output-reproducible \
	  --output-format JSON --output-file $(SBOM) requirements/tracing.txt

documents: .venv/test  ## Check the sandbox against the vendors' API documents in FOLDER; JAVASCRIPT=1 adds their JavaScript SDKs
	@PYTHONPATH=tests PYTHONDONTWRITEBYTECODE= $(BIN)/python -m sandbox.tests.documents $(or $(FOLDER),$(error FOLDER=… is missing)) $(ARGS)

clean:  ## Remove everything that these commands have created, except .env and gateway.db
	rm -rf .venv .data .site .cache dist $(PACKAGES:%=%/src/*.egg-info) .coverage* \
	  .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An incomplete environment is removed, so that the next attempt starts from scratch.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Python 3.11 or newer is required, but $(PYTHON) is missing or older. Name another one: make $(or $(MAKECMDGOALS),run) PYTHON=python3.13" >&2; exit 1; }
	@$(PYTHON) -m venv $$($(PYTHON) -c 'import ensurepip' 2>/dev/null && echo --without-pip) .venv || { rm -rf .venv; echo "The virtual environment could not be created; the reason is above." >&2; exit 1; }

# The program is compiled here, because with PYTHONDONTWRITEBYTECODE it would be compiled at every start.
# The environment for tests contains everything that running needs.
.venv/run: requirements/run.txt $(PACKAGES:%=%/pyproject.toml) | .venv/bin/python
	@echo "Installing (only once) …"
	@$(BIN)/python -m compileall -q $(PACKAGES:%=%/src) & $(INSTALL) $(if $(wildcard .venv/test),test,run) && wait
	@touch $@

.venv/test: requirements/test.txt pyproject.toml $(PACKAGES:%=%/pyproject.toml) | .venv/bin/python
	@echo "Installing for tests (only once) …"
	@$(BIN)/python -m compileall -q $(PACKAGES) tests & $(INSTALL) test && wait
	-@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --collect-only -qq > .venv/collected
	@touch $@ .venv/run

# In addition to the packages for tests, in the same versions.
.venv/docs: requirements/docs.txt | .venv/test
	@echo "Installing for the site (only once) …"
	@$(INSTALL) docs
	@touch $@
