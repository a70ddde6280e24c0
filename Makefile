# Every target creates the environment that it needs in .venv, from the hashed requirements.

# The first Python found that is 3.11 or newer, unless PYTHON names one. On Debian, the venv module
# may exist without ensurepip, which it needs.
IS_PYTHON = -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python $(IS_PYTHON) && echo $$python && break; done)
BIN = .venv/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help serve test test-fast check hook unhook test-versions test-container test-proxies sdk conformance conformance-pyz prove prove-cluster prove-year fuzz bench bench-quick audit release lint texts pictures reference site lock deb test-deb clean

help:
	@echo "make serve   start the service on the embedded store"
	@echo "make test    run the tests in their short form"
	@echo "make test-fast  run the rules, one store and a sample over HTTP, in less than 40 seconds"
	@echo "make check   lint, and test-fast; make hook has git run it before each commit"
	@echo "make test-versions  run the most telling tests with the lowest versions, and on each Python"
	@echo "make test-container  build the container and run it, with buildah and podman, as root"
	@echo "make test-proxies  run the examples of Caddy and nginx before it, and smuggle through HAProxy"
	@echo "make sdk     make clients from the reference by six generators, compile them, and sync with each"
	@echo "make conformance  test podsync-check, the suite that scores any server"
	@echo "make conformance-pyz  build it as one file to run, dist/podsync-check.pyz"
	@echo "make prove   run the proofs of tests/proofs in their full form, which takes hours"
	@echo "make prove-cluster  drill a Citus cluster: kills, a cold start, moves; CLUSTER_PREFIX= says where it is"
	@echo "make prove-year  let a year of 2,000 accounts pass on both stores; ARGS=\"--help\" says more"
	@echo "make fuzz    send mutated requests, 100,000 to each store, another set each time"
	@echo "make bench   measure how fast it is, for half an hour; tables and plots go to build/bench"
	@echo "make bench-quick  three ratios to the floor, in less than a minute"
	@echo "make audit   look the dependencies up in the database of known weaknesses"
	@echo "make release  build what a release consists of, and check it; it uploads nothing"
	@echo "make lint    check style, types and layers, and that each promise has code and a test"
	@echo "make texts   collect what pages say for the translations"
	@echo "make pictures  take the pictures of the pages that the documents show"
	@echo "make deb     build a package for the Debian whose Python .venv has, in dist/"
	@echo "make test-deb  install, run, upgrade and remove it in a tree of its own; as root, with debootstrap"
	@echo "make reference  write docs/settings.md, commands.md, pages.md and contract-index.md"
	@echo "make site    build the documents as a site, in build/site"
	@echo "make lock    pin the newest dependencies"

serve: .venv/run
	@$(BIN)/feedkeep serve $(ARGS)

# Containers may set this; every process started by a test would then compile all of feedkeep again.
unexport PYTHONDONTWRITEBYTECODE

# Two more test processes than there are processors: many tests wait for another process.
SIDE_BY_SIDE = -n $$(($$(nproc) + 2)) --dist worksteal

# With COVERED=1, as in CI, it also reports lines that no test runs. The proofs run without coverage, whose
# recording takes too long for them.
test: .venv/dev
ifndef COVERED
	$(BIN)/pytest $(SIDE_BY_SIDE) $(ARGS)
else
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(SIDE_BY_SIDE) --ignore=tests/proofs $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	$(BIN)/pytest $(SIDE_BY_SIDE) tests/proofs
endif

# Tests of what a change is most likely to break: the rules, one store, and a sample over HTTP.
FAST = tests/rules tests/formats tests/security tests/http tests/store tests/contract/test_add.py \
	tests/contract/test_update.py tests/contract/test_list.py tests/gpodder/test_whole_lists.py
# Excludes the other store and its distribution, pages in all languages, backups, large inputs, and
# guessed passwords.
NOT_FAST = not postgres and not distribute and not statements and not each_language and not costs \
	and not hostile and not backup and not attacker

test-fast: .venv/dev
	$(BIN)/pytest $(SIDE_BY_SIDE) $(FAST) -k "$(NOT_FAST)" $(ARGS)

check: lint test-fast

# Makes git run `make check` before each commit, until `make unhook`.
hook:
	printf '#!/bin/sh\nexec make check\n' > "$$(git rev-parse --git-path hooks)/pre-commit"
	chmod +x "$$(git rev-parse --git-path hooks)/pre-commit"

unhook:
	rm -f "$$(git rev-parse --git-path hooks)/pre-commit"

test-versions:
	@.ci/versions

# The base image is made by debootstrap, so no image registry is needed. ARGS="--help" shows the options.
test-container: .venv/dev
	@PYTHONPATH=tests $(BIN)/python tests/container $(ARGS)

ALSO_IN_FULL = tests/rules/test_machine.py tests/formats/test_hostile.py tests/store/test_copying.py \
	tests/store/test_stores_agree.py \
	tests/contract/test_reference.py::test_schemathesis_finds_nothing_with_any_of_its_checks

# Fails with a message if Caddy or nginx is missing.
test-proxies: .venv/dev
	@PYTHONPATH=tests:tests/proofs $(BIN)/python tests/proxies

# Skips languages that are not installed, unless REQUIRED=1. Downloads the generators from the registries.
sdk: .venv/dev .venv/sdk
	@REQUIRED="$(REQUIRED)" PYTHONPATH=tests $(BIN)/python -u tests/sdk

# tests/proofs/test_score.py scores this service with podsync-check.
conformance: .venv/dev
	cd conformance && ../$(BIN)/pytest -n auto $(ARGS)

PYZ = dist/podsync-check.pyz
conformance-pyz:
	@$(PYTHON) conformance/pyz.py $(PYZ) && echo $(PYZ)

# One proof measures time, and runs alone.
NEEDS_QUIET = tests/proofs/test_neighbours.py
IN_FULL = FEEDKEEP_PROVE=full $(BIN)/pytest -vv --durations=0 -o faulthandler_timeout=10000

prove: .venv/dev
	$(IN_FULL) $(SIDE_BY_SIDE) --ignore=$(NEEDS_QUIET) tests/proofs $(ALSO_IN_FULL) $(ARGS)
	test -n "$(ARGS)" || $(IN_FULL) $(NEEDS_QUIET)

# The short form, unless FEEDKEEP_PROVE=full. Without Citus, it prints a message and succeeds.
prove-cluster: .venv/dev
	@CLUSTER_PREFIX="$(CLUSTER_PREFIX)" CLUSTER_COORDINATOR="$(COORDINATOR)" \
		CLUSTER_WORKERS="$(WORKERS)" PYTHONPATH=tests/cluster:tests:tests/proofs \
		$(BIN)/python tests/cluster/drill.py $(ARGS)

# Measurements and a plot go to build/year. With the hash seed, an account has the same year in each run on
# SQLite, and one of a few on PostgreSQL. TMPDIR=/dev/shm spares the disk.
prove-year: .venv/bench
	@PYTHONHASHSEED=0 PYTHONPATH=tests:tests/proofs:tests/rules:tests/upgrades $(BIN)/python tests/year $(ARGS)

fuzz: .venv/dev
	$(IN_FULL) tests/proofs/test_fuzz.py $(ARGS)

bench: .venv/bench
	$(BIN)/python -m bench $(ARGS)

bench-quick: .venv/dev
	@$(BIN)/python -m bench quick

# In a separate environment: feedkeep does not run with its dependencies.
audit: .venv/audit
	for locked in run postgres build lowest; do \
		.venv/audit/bin/pip-audit --strict --require-hashes --disable-pip -r requirements/$$locked.txt || exit 1; \
	done

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m handbook.contract
	$(BIN)/python -m handbook.vague_words

# Updates the catalogues of page texts: adds new texts untranslated, removes unused texts, and keeps only
# the headers that describe the file's format.
SAID_BY = Sentence InvalidInput InvalidFeedUrl BrokenXml BodyTooLarge AccountError __init__
SAY = $(addprefix src/feedkeep/,formats http model/errors.py nextcloud oidc rules service store url_sync web)
LOCALE = src/feedkeep/http/pages/locale
LANGUAGES = de es fr
NOISE = 1{ /^$$/d; }; /^\#( |$$)/d; /^"(Project|Report|POT|PO|Last|Language-Team|Generated)/d

texts: .venv/dev
	@mkdir -p build $(LOCALE)
	$(BIN)/pybabel --quiet extract -F pyproject.toml $(addprefix -k ,$(SAID_BY)) --no-location \
		--sort-output -o build/feedkeep.pot $(SAY)
	for language in $(LANGUAGES); do \
		file=$(LOCALE)/$$language.po; \
		test -e $$file || $(BIN)/pybabel --quiet init -i build/feedkeep.pot -o $$file -l $$language || exit 1; \
		$(BIN)/pybabel --quiet update --no-fuzzy-matching --ignore-obsolete \
			-i build/feedkeep.pot -o $$file -l $$language || exit 1; \
		sed -E '$(NOISE)' $$file > build/$$language.po && mv build/$$language.po $$file || exit 1; \
	done

# Of a service started for the purpose, in the system's Chromium.
pictures: .venv/dev
	PYTHONPATH=tests $(BIN)/python tests/web/pictures.py docs/pictures

# Settings, commands, pages and the contract index, generated from the code; a test compares them.
reference: .venv/dev
	$(BIN)/python -m handbook.reference

site: .venv/site
	$(BIN)/python -m handbook.gather
	NO_MKDOCS_2_WARNING=1 .venv/site/bin/mkdocs build --strict

lock: .venv/dev
	sh requirements/lock.sh

deb: .venv/run
	@deploy/debian/build

test-deb: .venv/run
	@deploy/debian/test

.venv/bench: .venv/dev requirements/bench.txt
	$(PIP) install --require-hashes -r requirements/bench.txt
	@touch $@

# Builds what is uploaded by hand. The package and the container need root, debootstrap, buildah and podman.
release: .venv/release .venv/site .venv/dev
	@.ci/release

.venv/release: requirements/release.txt | .venv/bin/pip
	$(BIN)/python -m venv $@
	$@/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $<
	@touch $@

.venv/site: requirements/site.txt | .venv/bin/pip
	$(BIN)/python -m venv $@
	$@/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $<
	@touch $@

.venv/sdk: requirements/sdk.txt | .venv/bin/pip
	$(BIN)/python -m venv $@
	$@/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $<
	@touch $@

.venv/audit: requirements/audit.txt
	$(PYTHON) -m venv $@
	$@/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $<
	@touch $@

clean:
	rm -rf .venv dist

# pip is installed last: an environment without it was left incomplete by a failure, and is made again.
.venv/bin/pip:
	@{ test -n "$(PYTHON)" && $(PYTHON) $(IS_PYTHON); } || { \
		echo "feedkeep needs Python 3.11 or newer, with its modules venv and ensurepip." >&2; \
		echo "On Debian and Ubuntu: sudo apt install python3-venv" >&2; \
		echo "To take a Python that is elsewhere: make PYTHON=/path/to/python3" >&2; exit 1; }
	@rm -rf .venv
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

.venv/run: requirements/run.txt requirements/build.txt pyproject.toml conformance/pyproject.toml | .venv/bin/pip
	@echo "Installing feedkeep into .venv; this takes about a minute."
	$(PIP) install --require-hashes -r requirements/build.txt
	$(PIP) install --require-hashes --no-build-isolation -r requirements/run.txt
	$(PIP) install --no-deps --no-build-isolation --editable . --editable conformance
	@touch $@

.venv/dev: .venv/run requirements/postgres.txt requirements/dev.txt
	@echo "Installing what tests need; this takes about a minute."
	$(PIP) install --require-hashes -r requirements/postgres.txt
	$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@
