# Both commands set up all they need: a virtual environment and, inside it, the dependencies.
# The first Python here that is new enough; with none, the system's package is tried.
PYTHON ?= $(shell for one in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$one -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$one && break; done)
ifeq ($(PYTHON),)
PYTHON := python3
endif
VENV ?= .venv
LOCK := requirements.lock
STAMP := $(VENV)/.installed
CORE := $(VENV)/.core
# What tests need: each adapter's framework and a model in a file, too.
EXTRAS := code docs documents langchain langgraph llama-index llm local openai-agents postgres serve
COMMA := ,

# Tests start hundreds of processes. Where compiled modules may not be kept, each compiles treering anew,
# which is half of what its start costs.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-bench quality test-ray browser openapi quick lint lock audit faults bench docs release clean

demo: $(CORE)
	@$(VENV)/bin/python -m examples.demo

# Three processes on the two cores of the smallest machine that we test on: most of what one of them
# does is to wait for another program. The tests of a file stay together.
test: lint browser openapi
	$(VENV)/bin/python -m pytest --numprocesses 3 --dist loadfile

# The benchmarks are a project of their own, with their own tests.
test-bench: $(STAMP)
	cd benchmarks && $(abspath $(VENV))/bin/python -m pytest --numprocesses 2 --dist loadfile

# The page is tested in a real Chromium; where none can be installed, a closing line says so.
browser: $(STAMP)
	@$(VENV)/bin/python -m tools.install_browser

# Workers on Ray, beside make test: Ray is large, takes seconds to start, and warns.
test-ray: $(STAMP)
	$(VENV)/bin/python -m pip install --quiet --editable '.[ray]'
	TREERING_TEST_RAY=1 $(VENV)/bin/python -m pytest -W default tests/bulk/test_ray.py

# While you work: under a minute of processor time. Types are checked of what changed since the last
# time, and of what rests on it. In a checkout where `make lint` has not run yet that would be all, half
# a minute: there they are checked of the files that are not committed.
CORE_TESTS := $(addprefix tests/,journal split score relate recall fragments views memory facts golden \
	test_public.py test_structure.py test_map.py)
# Of these each test starts processes or reads the whole package.
SLOW_TESTS := $(addprefix --ignore=tests/,journal/test_backup.py journal/test_named_spaces.py \
	journal/test_posix_locks.py journal/test_row_security.py journal/test_sqlite_faults.py \
	journal/test_writers.py memory/test_copying.py memory/test_minilm.py \
	memory/test_scrubbing.py views/test_hash_seeds.py views/test_rebuild_killed.py) \
	--deselect=tests/test_structure.py::test_no_import_of_a_module_is_overlooked

quick: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	@if [ -d .mypy_cache ]; then $(VENV)/bin/mypy; else \
		git ls-files --modified --others --exclude-standard -- 'treering/*.py' 'tests/*.py' 'tools/*.py' \
		'benchmarks/*.py' \
			| xargs -r $(VENV)/bin/mypy --cache-dir=/dev/null; fi
	$(VENV)/bin/python -m pytest -q --hypothesis-profile=quick -k "not postgres" $(SLOW_TESTS) \
		$(CORE_TESTS)

# The generator of clients needs exactly other versions of what treering needs, too. So it lies beside the
# rest, where its test looks for it, and without what it shares with that.
openapi: $(VENV)/openapi
$(VENV)/openapi: tests/serve/openapi.txt | $(STAMP)
	@$(VENV)/bin/python -m pip install --quiet --upgrade --no-deps --no-compile --require-hashes --requirement $< \
		--target $@ && touch $@ || echo "$@ cannot be installed: its tests are skipped."

# Every dependency with its digests, and with what builds the package: what CI and releases install.
lock: $(STAMP)
	$(VENV)/bin/python -m pip install --quiet --group supply
	printf 'hatchling\neditables\n' | $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade \
		$(addprefix --extra ,$(EXTRAS)) --group dev pyproject.toml \
		benchmarks/pyproject.toml - --no-emit-package treering --output-file $(LOCK)

# Known vulnerabilities of what is locked. Without a network it says what it could not look up.
audit: $(STAMP)
	$(VENV)/bin/python -m pip install --quiet --group supply || true
	$(VENV)/bin/python -m tools.audit $(LOCK)

# Tries to lose, leak and break, for at most 20 minutes, and prints the figures; with KEEP=1 it also
# writes them into docs/explanation/reliability.md.
faults: $(STAMP)
	$(VENV)/bin/python -m tools.faults $(if $(KEEP),--keep)

lint: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# treering alone, which is all that the demo needs, and is there in half the time.
$(CORE): pyproject.toml
	@echo "installing treering and what it needs into $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV); }
ifndef LOCKED
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
endif
	@touch $(CORE)

$(STAMP): $(CORE) benchmarks/pyproject.toml
	@echo "installing what tests and tools need, too"
	$(VENV)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
ifdef LOCKED
	$(VENV)/bin/python -m pip install --quiet --require-hashes --requirement $(LOCK)
	$(VENV)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable . --editable ./benchmarks
else
	$(VENV)/bin/python -m pip install --quiet --editable '.[$(subst $() ,$(COMMA),$(EXTRAS))]' \
		--editable ./benchmarks --group dev
endif
	touch $(STAMP)

# Speed against the machine's limits: fails where a ratio is over twice the committed ones. With one
# thread, as two wait for each other wherever other work has a core. See docs/figures.md.
bench: $(STAMP)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(VENV)/bin/treering-bench perf --max-n 10000 \
		--patience 2 --against benchmarks/results/perf/baseline --tolerance 2

# Evidence found in the data sets of DATA, against the committed ranks: fails where a set got worse and
# benchmarks/results/quality/reasons.toml gives no reason. The first run embeds for half an hour.
quality: $(STAMP)
	$(VENV)/bin/treering-bench quality --data $(DATA)

# The pages as a site, in site/. They are plain Markdown, and docs/index.md lists them.
docs: $(STAMP)
	$(VENV)/bin/python -m mkdocs build --quiet
	@echo "site/index.html"

# A wheel and an sdist in dist/, checked and tried on the oldest and the newest Python here.
release: $(STAMP)
	rm -rf dist
	$(VENV)/bin/python -m build --quiet
	$(VENV)/bin/python -m twine check --strict dist/*
	$(VENV)/bin/python -m tools.try_release

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist site
