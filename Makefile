# Every target makes the environment it needs first; each works twice in a row, and in a path with spaces.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SUPPLY := .cache/supply

# Only what a lock names, and only if its hash is right. Wheels alone, since a build fetches its tools without hashes;
# a platform that lacks one builds with `make install WHEELS=`.
WHEELS ?= --only-binary :all:
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --no-deps
LOCKED = $(PIP_INSTALL) --require-hashes $(WHEELS)
OURSELVES := $(PIP_INSTALL) --no-build-isolation

.PHONY: install demo test bench verdictbench fuzz lock audit sbom base-digest clean help

help:  ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

$(VENV)/.installed: pyproject.toml locks/runtime.txt locks/build.txt
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python $(LOCKED) --requirement locks/runtime.txt --requirement locks/build.txt
	$(BIN)/python $(OURSELVES) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.installed locks/test.txt
	$(BIN)/python $(LOCKED) --requirement locks/test.txt
	@touch $@

$(VENV)/.bench: $(VENV)/.test locks/bench.txt
	$(BIN)/python $(LOCKED) --requirement locks/bench.txt
	@touch $@

$(VENV)/.fuzz: $(VENV)/.test locks/fuzz.txt
	$(BIN)/python $(LOCKED) --requirement locks/fuzz.txt
	@touch $@

# In an environment of their own: what audits the locks is not in them.
$(SUPPLY)/.installed: locks/supply.txt
	"$(PYTHON)" -m venv $(SUPPLY)
	$(SUPPLY)/bin/python $(LOCKED) --requirement locks/supply.txt
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

# One version of a package for all Pythons and platforms, with the hashes of all its files. A pin moves only where
# pyproject.toml asks for it; `make lock UPGRADE=--upgrade` moves all of them.
COMPILE = $(SUPPLY)/bin/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-emit-index-url --custom-compile-command 'make lock' $(UPGRADE)

lock: $(SUPPLY)/.installed  ## locks/*.txt anew from pyproject.toml
	$(COMPILE) pyproject.toml --output-file locks/runtime.txt
	$(COMPILE) pyproject.toml --extra test --constraint locks/runtime.txt --output-file locks/test.txt
	$(COMPILE) pyproject.toml --extra test --extra bench --constraint locks/test.txt --output-file locks/bench.txt
	$(COMPILE) pyproject.toml --extra test --extra fuzz --constraint locks/test.txt --output-file locks/fuzz.txt
	$(COMPILE) --group build --constraint locks/test.txt --output-file locks/build.txt
	$(COMPILE) --group supply --output-file locks/supply.txt
	$(COMPILE) --group xpk --output-file locks/xpk.txt

audit: $(SUPPLY)/.installed  ## known vulnerabilities of what the locks pin
	@"$(PYTHON)" -m tests.audit $(SUPPLY)/bin/pip-audit

sbom: $(SUPPLY)/.installed  ## sbom.cdx.json: all that locks/runtime.txt installs here, as CycloneDX
	rm -rf .cache/sbom
	"$(PYTHON)" -m venv .cache/sbom
	.cache/sbom/bin/python $(LOCKED) --requirement locks/runtime.txt
	$(SUPPLY)/bin/cyclonedx-py environment .cache/sbom --pyproject pyproject.toml --output-reproducible \
		--output-file sbom.cdx.json

# Where the name of the base image leads is known only where docker is and its registry answers.
base-digest:  ## the base image of the Dockerfile, held to its present digest
	@command -v docker >/dev/null || { echo "needs docker: the Dockerfile is as it was"; exit 1; }
	@name=$$(sed -n 's/^ARG BASE=\([^@]*\).*/\1/p' Dockerfile) \
		&& digest=$$(docker buildx imagetools inspect "$$name" --format '{{.Manifest.Digest}}') \
		&& case $$digest in sha256:*) ;; *) echo "no digest of $$name"; exit 1;; esac \
		&& sed "s|^ARG BASE=.*|ARG BASE=$$name@$$digest|" Dockerfile >Dockerfile.new \
		&& mv Dockerfile.new Dockerfile && grep '^ARG BASE=' Dockerfile

clean:  ## everything that was made
	rm -rf $(VENV) .cache .data .mypy_cache .pytest_cache .ruff_cache .hypothesis
