# One word per habit. Nothing is needed beforehand but python3, git and make.
PYTHON ?= python3
BIN := .venv/bin
SBOM ?= dist/sbom.json
PACKAGES := gateway sandbox client
LOCK := uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
  --python-version 3.11
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv

.DEFAULT_GOAL := help
.PHONY: help run together test check fast fix javascript bench screenshots docs examples hostile tenants shapes lock sbom documents chaos simulate generate clean

help:  ## What there is
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile

run: .venv/run  ## Gateway and sandbox, ready to call; ARGS="--port 9000 --fresh" pass through
	@$(BIN)/connector-gateway dev $(ARGS)

together: .venv/test  ## What deploy/compose.yaml runs, without containers; ARGS="--port 9000"
	@PYTHONPATH=tests $(BIN)/python -m deploy $(ARGS)

# What is compiled is kept, also where PYTHONDONTWRITEBYTECODE is set: pytest rewrites the assertions of 350 modules,
# which each worker would do for itself at every run, in 18 s of CPU in place of 6. The first time is with the installation.
test: .venv/test  ## The whole suite; ARGS="-k notes" pass through, WORKERS=4 at the same time
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(or $(WORKERS),5) --dist loadfile --no-loadscope-reorder $(ARGS)

javascript: .venv/test  ## The vendors' libraries, a generated client, linters and MCP's own suite; fetches them from npm
	@JAVASCRIPT=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -m javascript sandbox/tests/guides gateway/tests/agents/protocol gateway/tests/clients

check: fast test  ## Everything that must hold before a commit lands

fast: .venv/docs  ## The fast half of check
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tools/generate.py --check
	@$(BIN)/pip-licenses --packages $$(sed -n 's/^\([A-Za-z0-9._-]*\)==.*/\1/p' requirements/tracing.txt) > .venv/licences
	@$(MAKE) --silent docs

fix: .venv/test  ## Put right what can be put right by machine
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

generate: .venv/test  ## Make the generated files again
	@$(BIN)/python tools/generate.py

examples: .venv/test  ## Record the calls that the reference shows
	@PYTHONPATH=tests $(BIN)/python -m harness.example_calls

screenshots: .venv/test  ## Draw the pages that the guide shows; needs Chromium
	@PYTHONPATH=tests $(BIN)/python -m gateway.tests.browser.screenshots

# Folders that pages link to. A folder without a README gets a list of its pages, as code hosts show it.
LISTED := decisions guide reference

docs: .venv/docs  ## The documentation as a site in .site/html; warnings and fetches from elsewhere are errors
	@rm -rf .site && mkdir -p .site/pages
	@find *.md client docs gateway sandbox -type f \( -name '*.md' -o -path 'docs/*' -o -path 'sandbox/examples/*' \) | \
	  tar -c -T - | tar -x -C .site/pages
	@cd .site/pages/docs && for folder in $(LISTED); do test -e $$folder/README.md || { cd $$folder && \
	  find . -name '*.md' | sort | while read -r page; do echo "- [$$(sed -n '1s/^# //p' $$page)]($$page)"; done > list && \
	  { printf '# %s\n\n' $$folder; cat list; } > README.md && rm list && cd ..; }; done
	@find .site/pages -name '*.md' -exec sed -i -E 's#\]\(([./a-z]*/)?($(subst $() ,|,$(LISTED)))\)#](\1\2/README.md)#' {} +
	@$(BIN)/zensical build --clean --strict
	@! grep -rEi '<(script|img|iframe|source)[^>]* src="?(https?:)?//|<link[^>]* href="?(https?:)?//|url\(.?(https?:)?//' \
	  --include=*.html --include=*.css .site/html

bench: .venv/test  ## Measure; ratios within one run
	@$(BIN)/python -m benchmarks $(ARGS)

simulate: .venv/test  ## Try the promise about writes; SEEDS=1000 START=1 PROCESSES=1|2
	@PYTHONPATH=tests PYTHONHASHSEED=0 $(BIN)/python -m simulation --seeds $(or $(SEEDS),1000) --start $(or $(START),1) \
	  $(if $(PROCESSES),--processes $(PROCESSES)) $(ARGS)

chaos: .venv/test  ## Let gateways, PostgreSQL, the store and the applications fail under load; ARGS="--only kill,freeze --seconds 60 --seed 3"
	@PYTHONPATH=tests $(BIN)/python -m chaos $(ARGS)

hostile: .venv/test  ## Attack a gateway, and measure what that costs others; ARGS="half_bodies" for one alone
	@PYTHONPATH=tests $(BIN)/python -m hostile $(ARGS)

tenants: .venv/test  ## Deliver to customers, apps and teams drawn at random; nobody may see what is not theirs; ARGS="20000 0": histories, first seed
	@PYTHONPATH=tests $(BIN)/python -m hostile.tenants $(ARGS)

shapes: .venv/test  ## Call every operation with requests of every shape for a minute; each finding is to be read
	@PYTHONPATH=tests $(BIN)/python -m hostile.shapes $(ARGS)

lock: .venv/test  ## Lock the dependencies with hashes; needs uv
	@$(LOCK) --group build gateway/pyproject.toml -o requirements/run.txt
	@$(LOCK) --group build --extra tracing --constraint requirements/run.txt gateway/pyproject.toml -o requirements/tracing.txt
	@$(LOCK) --group build --group test gateway/pyproject.toml -o requirements/test.txt
	@$(LOCK) --constraint requirements/test.txt --group docs -o requirements/docs.txt

sbom: .venv/test  ## List what is installed in production, with hashes, in CycloneDX's JSON: SBOM=dist/sbom.json
	@mkdir -p $(dir $(SBOM))
	@$(BIN)/python -W ignore -m cyclonedx_py requirements --pyproject gateway/pyproject.toml --output-reproducible \
	  --output-format JSON --output-file $(SBOM) requirements/tracing.txt

documents: .venv/test  ## Hold the sandbox against the vendors' API documents in FOLDER; JAVASCRIPT=1 takes the libraries for JavaScript too
	@PYTHONPATH=tests PYTHONDONTWRITEBYTECODE= $(BIN)/python -m sandbox.tests.documents $(or $(FOLDER),$(error FOLDER=… is missing)) $(ARGS)

clean:  ## Remove all that was made here, but what serve keeps: .env and gateway.db
	rm -rf .venv .data .site .cache dist $(PACKAGES:%=%/src/*.egg-info) .coverage* \
	  .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Nothing is left of an environment that could not be made, so that a second try begins anew.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Python 3.11 or newer is needed, and $(PYTHON) is not: name one, as in make $(or $(MAKECMDGOALS),run) PYTHON=python3.13" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; echo "The environment could not be made; the reason is above." >&2; exit 1; }

# The program itself is compiled here, since where PYTHONDONTWRITEBYTECODE is set it would be at every start (decision 50).
# The larger environment serves the smaller purpose too.
.venv/run: requirements/run.txt $(PACKAGES:%=%/pyproject.toml) | .venv/bin/python
	@test -e .venv/test || { echo "Installing, once …" && $(PIP) --require-hashes -r requirements/run.txt; }
	@$(PIP) --no-build-isolation --no-deps $(PACKAGES:%=-e %)
	@$(BIN)/python -m compileall -q $(PACKAGES:%=%/src)
	@touch $@

.venv/test: requirements/test.txt pyproject.toml $(PACKAGES:%=%/pyproject.toml) | .venv/bin/python
	@echo "Installing for tests, once …"
	@$(PIP) --require-hashes -r requirements/test.txt
	@$(PIP) --no-build-isolation --no-deps $(PACKAGES:%=-e %)
	@$(BIN)/python -m compileall -q $(PACKAGES) tests
	-@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --collect-only -qq > .venv/collected
	@touch $@ .venv/run

# Beside what the tests need, in the same versions.
.venv/docs: requirements/docs.txt | .venv/test
	@echo "Installing for the site, once …"
	@$(PIP) --require-hashes -r requirements/docs.txt
	@touch $@
