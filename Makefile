# Every target makes the environment it needs first; each works twice in a row, and in a path with spaces.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: install demo test bench verdictbench fuzz clean help

help:  ## what can be made
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

$(VENV)/.installed: pyproject.toml
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

$(VENV)/.fuzz: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]'
	@touch $@

install: $(VENV)/.installed  ## the program, in .venv/bin/maxview

demo: $(VENV)/.installed  ## the whole product on this machine, without an account
	$(BIN)/maxview demo

# Twice as many workers as small machines have cores: every second test waits for a program that it started.
test: $(VENV)/.test  ## lint, types and every test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tests.peers.installed
	$(BIN)/python -m pytest -n 4 --dist loadgroup

bench: $(VENV)/.bench  ## speed, as ratios against named peers
	$(BIN)/python -m tests.bench

verdictbench: $(VENV)/.test  ## how often verdicts are wrong, beside other tools' rules
	$(BIN)/python -m tests.verdictbench --markdown docs/verdictbench.md

fuzz: $(VENV)/.fuzz  ## hostile logs for the readers, ten minutes
	$(BIN)/python -m tests.fuzz

clean:  ## everything that was made
	rm -rf $(VENV) .cache .data .mypy_cache .pytest_cache .ruff_cache .hypothesis
