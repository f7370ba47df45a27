# Everything a newcomer types. Each target sets up .venv by itself when it is missing or versions have changed.
#
#   make train                  ten minutes of Balatro, then an evaluation and what to type next
#   make train MINUTES=60       the same, longer (again: it goes on); GAME=hackmatrix for the other game
#   make install                a `jimbot` on your PATH, so that nothing has to be activated
#   make extras                 the other learners, trackers and services (EXTRAS=sb3,serve: only those)
#   make test  | make test-long fast tests | the long ones only (minutes)
#   make test-failed            those that failed last time, one after the other
#   make lint  | make bench     style and types | the speed of this machine
#   make proto                  the generated messages, after a change of jimbot/proto/*.proto
#   make web                    the page of jimbot ui, after a change of web/ (needs Node 20 or newer)
#   make docs                   the documentation as a site with search, in site/
#   make rules                  Prometheus' alerts, after a change of jimbot/runs/alerts.py
#   make setup | make clean     only .venv | remove .venv and all caches (never runs/)

PYTHON ?= python3
GAME ?= balatro
MINUTES ?= 10
TESTS ?=
EXTRAS ?= all
BENCH ?=

VENV := .venv
CORE := $(VENV)/.core
EVERYTHING := $(VENV)/.everything
RUN := $(VENV)/bin/python -m
INSTALL := $(RUN) pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

# Idle OpenMP threads sleep instead of spinning: the other worker needs the core.
export OMP_WAIT_POLICY := PASSIVE

.DEFAULT_GOAL := help
.PHONY: help setup extras install train test test-failed test-long bench lint proto web lock clean rules docs

help:
	@sed -n 's/^#   //p' Makefile

setup: $(CORE)

# `python -m` throughout, not the scripts in .venv/bin: those break when the folder is moved.
$(CORE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "JimBot needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo missing); install one and type: make setup PYTHON=python3.11" >&2; \
	  exit 1; }
	@echo "Setting up $(VENV) (once; a minute): $(PYTHON) -m venv $(VENV); pip install -c constraints.txt -e ."
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) .
	@touch $@

# The other learners, trackers and tools: half a dozen libraries of gigabytes that a first training does without.
$(EVERYTHING): $(CORE)
	@echo "Adding the other learners and the tools to $(VENV) (once; a few minutes): pip install -c constraints.txt -e '.[dev,all]'"
	@$(INSTALL) '.[dev,all]'
	@touch $@

# By hand: pip install -e '.[sb3]' in the same .venv.
extras: $(CORE)
	@$(INSTALL) '.[$(EXTRAS)]'
	@echo "Added to $(VENV): $(EXTRAS). jimbot doctor lists what each one is."

# With uv or pipx a `jimbot` of its own, that follows this folder; otherwise a link to the one in .venv.
LINK := $(HOME)/.local/bin/jimbot
install: $(CORE)
	@if command -v uv >/dev/null; then \
	  uv tool install --quiet --force --constraints constraints.txt --editable . && \
	  echo "uv installed jimbot in $$(uv tool dir --bin); it follows this folder. To remove it: uv tool uninstall jimbot"; \
	elif command -v pipx >/dev/null; then \
	  pipx install --quiet --force --pip-args='--constraint $(CURDIR)/constraints.txt' --editable . && \
	  echo "pipx installed jimbot; it follows this folder. To remove it: pipx uninstall jimbot"; \
	elif [ -e "$(LINK)" ] && [ ! -L "$(LINK)" ]; then \
	  echo "$(LINK) is there and is not a link; move it away first." >&2; exit 2; \
	else \
	  mkdir -p "$(dir $(LINK))" && ln -sfn "$(abspath $(VENV))/bin/jimbot" "$(LINK)" && \
	  echo "Linked $(LINK) to $(abspath $(VENV))/bin/jimbot. To remove it: rm $(LINK)"; \
	  case ":$$PATH:" in *":$(HOME)/.local/bin:"*) ;; *) \
	    echo "$(HOME)/.local/bin is not on your PATH yet; add this to your shell's start file: export PATH=\"\$$HOME/.local/bin:\$$PATH\"";; esac; \
	fi

train: $(CORE)
	@$(RUN) jimbot train $(GAME) --minutes $(MINUTES)

# What is large is compiled once, before the workers start. One file stays in one worker; workers share .jimbot-cache (tests/conftest.py).
test: $(EVERYTHING)
	@$(RUN) tests.compile_first
	@$(RUN) pytest -n 2 --dist loadfile --no-loadscope-reorder $(TESTS)

# Only those that failed last time, one after the other.
test-failed: $(EVERYTHING)
	@$(RUN) pytest -n 0 --last-failed --last-failed-no-failures none $(TESTS)

test-long: $(EVERYTHING)
	@$(RUN) pytest -n 2 --dist loadfile -m long $(TESTS)

bench: $(EVERYTHING)
	@$(RUN) jimbot bench $(BENCH)

lint: $(EVERYTHING)
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) ty check jimbot benchmarks tools tests examples
	@if [ -x $(VENV)/bin/oxlint ]; then $(VENV)/bin/oxlint --deny-warnings jimbot tests web examples; \
	  else echo "oxlint has no build for this kind of machine: JavaScript and TypeScript were not checked."; fi

# Messages and stubs from the schemas; committed, so that nobody needs the generator to use them.
proto: $(EVERYTHING)
	@$(RUN) grpc_tools.protoc -I. --python_out=. --pyi_out=. --grpc_python_out=. jimbot/proto/events.proto jimbot/proto/decisions.proto
	@rm -f jimbot/proto/events_pb2_grpc.py

# The page, committed as it is built, so that nobody needs Node to look at it.
web:
	@cd web && npm ci --no-audit --no-fund && npm run build

# Fails where a link leads nowhere.
docs: $(EVERYTHING)
	@NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict --quiet
	@echo "Built site/. Look at it, search included: python3 -m http.server --directory site 8000"

# The same table of alerts that training and serving look at.
rules: $(CORE)
	@$(RUN) jimbot.runs.alerts > deploy/prometheus/rules.yaml

# After a change of versions: what is installed now becomes what everybody gets.
lock: $(EVERYTHING)
	@{ sed -n '/^#/p' constraints.txt; $(RUN) pip freeze --exclude-editable | sed 's/+cpu$$//' | sort --ignore-case; } > constraints.new
	@mv constraints.new constraints.txt

clean:
	rm -rf $(VENV) .jimbot-cache .pytest_cache .ruff_cache .hypothesis build *.egg-info
	find jimbot tests -name __pycache__ -type d -prune -exec rm -rf {} +
