# Both commands set up all they need: a virtual environment and, inside it, the dependencies.
PYTHON ?= python3
VENV ?= .venv
STAMP := $(VENV)/.installed

.PHONY: demo test lint bench clean

demo: $(STAMP)
	$(VENV)/bin/python -m examples.demo

test: lint
	$(VENV)/bin/python -m pytest

lint: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV) || { apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV); }
	$(VENV)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)/bin/python -m pip install --quiet --editable '.[code,llm,serve]' --group dev
	touch $(STAMP)

# What the README says of speed; quality is measured by `treering bench`, see docs/measuring.md.
bench: $(STAMP)
	$(VENV)/bin/python benchmarks/search_speed.py
	$(VENV)/bin/python benchmarks/end_to_end.py
	$(VENV)/bin/python benchmarks/ingest_speed.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
