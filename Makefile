# Every command by one word. Only Python 3.11 (or newer) and make are needed to begin.
PYTHON ?= python3
IN     := $(PYTHON) .ci/bootstrap.py
DEV    := $(PYTHON) .ci/bootstrap.py --dev
PYTEST_ARGS ?=

.PHONY: run test check fix lock env clean help

help:           ## what there is
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

run:            ## install if needed, start the product with its demo, print the address
	@exec $(IN) python manage.py up

test:           ## install if needed, run the whole suite (DATABASE_URL, REDIS_URL are honoured)
	@exec $(DEV) python -m pytest $(PYTEST_ARGS)

check:          ## lint, format, types, layers, migrations
	@$(DEV) ruff check .
	@$(DEV) ruff format --check .
	@$(DEV) mypy
	@PYTHONPATH=sdk/src:. $(DEV) lint-imports
	@$(DEV) python manage.py makemigrations --check --dry-run
	@$(DEV) python manage.py check --fail-level WARNING

fix:            ## what the tools can mend by themselves
	@$(DEV) ruff check --fix .
	@$(DEV) ruff format .

lock:           ## resolve the dependencies again (needs uv)
	uv pip compile pyproject.toml --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header -q -o requirements.lock
	uv pip compile pyproject.toml --group dev -c requirements.lock --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header -q -o requirements-dev.lock

env:            ## only make the development environment
	@$(DEV)

clean:          ## remove the environment (your data in .rewyn-web stays)
	rm -rf .venv .tools
