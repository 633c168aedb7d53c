# make           set-up, then the main job: Verilog, real dumps through it, ratio, throughput, area
# make test      set-up, then lint, types and tests
# make help      the other targets

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
BUILD  := build
# What `make compare` measures; with a cell library, LIBERTY=FILE, areas and clocks of cells as well.
SECTIONS := shipped block_shipped engine_pages engine_write_back
LIBERTY  :=
# RECORD=1 keeps results in tools/results; SHARD=i/n runs a part.
RECORD   :=
SHARD    := 1/1
MINUTES  := 10
PRESETS  := smallest tiny
PYRIGHT := $(BIN)/pyright --pythonpath $(BIN)/python
# Dense values of bfloat16, which the engine codes with exponents.
DENSE    := workload/data/sums_gpt.safetensors
SHELL  := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := all

# The Yosys of the Python package, so that the Verilog is the same on every machine.
export AMARANTH_USE_YOSYS := builtin
# Simulations and tests start Python hundreds of times: it keeps what it compiles, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE
# Memory in huge pages: a quarter of the time of Verilator and of solvers, which make trees of small objects.
export GLIBC_TUNABLES ?= glibc.malloc.hugetlb=1

.PHONY: all setup generate simulate area test test-extended test-torch soc test-soc regression icarus signoff formal coverage mutation soak lint format bench compare report docs clean distclean help

all: generate simulate area ## set up, generate Verilog, simulate shipped dumps, print ratio, throughput and area

setup: $(READY) ## set up the virtual environment in .venv (once, and again when pyproject.toml changes)

$(READY): pyproject.toml tools/check-system
	@PYTHON="$(PYTHON)" tools/check-system
	@echo "setting up $(VENV): downloads the tools (about 400 MB), once"
	@for room in golden hdl synth verif workload; do test -e cdma/$$room || ln -s ../$$room cdma/$$room; done
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e '.[sim,peers,boards,test]'
	@touch $@

generate: $(READY) ## write the engine into build/rtl
	@$(BIN)/cdma generate -o $(BUILD)/rtl

simulate: generate ## send a sparse and a dense dump through the simulated engine and back, every byte compared
	@echo
	@$(BIN)/cdma simulate --build-dir $(BUILD)/sim
	@echo
	@$(BIN)/cdma simulate $(DENSE) --build-dir $(BUILD)/sim

area: simulate ## print cells, flip-flops, kGE and memories of the engine, unit by unit (a minute or two)
	@echo
	@$(BIN)/cdma area

test: $(READY) ## set up, check style, run the tests on two cores and check types beside them (RECORD=1: all tests, and which lines of Python they run, for docs/signoff.md)
	@$(BIN)/ruff check .
	@mkdir -p $(BUILD)
	@$(PYRIGHT) & types=$$!; CDMA_REGRESSION=$(if $(RECORD),extended) $(BIN)/$(if $(RECORD),coverage run,python) -m pytest -n 2 --dist worksteal --junitxml=$(BUILD)/$(if $(RECORD),whole,test).xml; \
		wait $$types || { echo "types: pyright found what it says above"; exit 1; }
	@$(if $(RECORD),$(BIN)/coverage combine -q; $(BIN)/coverage report --skip-covered; $(BIN)/coverage json -q -o $(BUILD)/python.json)
	@$(if $(RECORD),$(BIN)/python tools/sign_off.py test $(BUILD)/whole.xml; $(BIN)/python tools/sign_off.py python $(BUILD)/python.json)

test-extended: $(READY) ## run the tests that make test leaves out for the time they take (SHARD=i/n)
	@mkdir -p $(BUILD)
	@CDMA_REGRESSION=extended CDMA_SHARD=$(SHARD) $(BIN)/python -m pytest -n 2 --dist worksteal -m extended --junitxml=$(BUILD)/extended.xml

test-torch: $(READY) ## install the extras [torch] and [gpu] (about 1 GB) and run the tests that need them
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[torch,gpu]'
	@$(BIN)/python -m pytest -n 2 --dist load --maxschedchunk 1 tests/torch

soc: $(READY) ## install the extra [soc], simulate a SoC whose RISC-V core drives the engine (needs gcc-riscv64-unknown-elf)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[soc]'
	@$(BIN)/cdma soc --build-dir $(BUILD)/sim

test-soc: $(READY) ## install the extra [soc] and run the tests that need it and gcc-riscv64-unknown-elf
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[soc]'
	@$(BIN)/python -m pytest tests/soc

regression: $(READY) ## run more stimuli, and transfers and faults on all configurations of the sweep, all cores busy (hours; SHARD=i/n, RECORD=1: for docs/signoff.md)
	@mkdir -p $(BUILD)
	@CDMA_REGRESSION=full CDMA_SHARD=$(SHARD) $(BIN)/python -m pytest -n auto --dist worksteal --junitxml=$(BUILD)/regression.xml tests/verif
	@$(if $(RECORD),$(BIN)/python tools/sign_off.py regression $(BUILD)/regression.xml $(SHARD))

icarus: $(READY) ## run the regression of PRESETS in Icarus, which knows X (an hour or two; RECORD=1: for docs/signoff.md)
	@for preset in $(PRESETS); do \
		$(BIN)/cdma verify $$preset --simulator icarus --report $(BUILD)/icarus/$$preset --build-dir $(BUILD)/sim || exit 1; done
	@$(if $(RECORD),$(BIN)/python tools/sign_off.py icarus $(patsubst %,$(BUILD)/icarus/%/results.json,$(PRESETS)))

formal: $(READY) ## prove properties of the hardware (hours; SHARD=i/n, RECORD=1 keeps the results)
	@mkdir -p $(BUILD)
	@nice $(BIN)/cdma prove --shard $(SHARD) $(if $(RECORD),--json > $(BUILD)/formal.json)
	@$(if $(RECORD),$(BIN)/python tools/sign_off.py formal $(BUILD)/formal.json)

coverage: $(READY) ## measure functional, line and toggle coverage on the chosen designs (half an hour; SHARD=i/n, RECORD=1)
	@nice $(BIN)/python tools/cover.py --shard $(SHARD) $(if $(RECORD),--json $(BUILD)/coverage.json)
	@$(if $(RECORD),$(BIN)/python tools/sign_off.py coverage $(BUILD)/coverage.json)

mutation: $(READY) ## put the frozen faults into the hardware's sources, see whether tests find them (hours; SHARD=i/n)
	@nice $(BIN)/python tools/mutate.py run --part $(SHARD)

soak: $(READY) ## random configurations, traffic, faults and malformed streams for MINUTES (SHARD=i/n, RECORD=1 keeps the results)
	@mkdir -p $(BUILD)
	@nice $(BIN)/cdma soak --minutes $(MINUTES) --shard $(SHARD) $(if $(RECORD),--json > $(BUILD)/soak.json)
	@$(if $(RECORD),$(BIN)/python tools/sign_off.py soak $(BUILD)/soak.json)

lint: $(READY) ## check style (ruff) and types (pyright)
	@$(BIN)/ruff check .
	@$(PYRIGHT)

format: $(READY) ## mend what ruff can mend
	@$(BIN)/ruff check --fix .

bench: $(READY) ## measure everything and write bench/performance.json and .md (hours; LIBERTY=FILE adds um2 and MHz)
	@$(BIN)/cdma bench --output bench/performance.json $(if $(LIBERTY),--liberty "$(LIBERTY)")
	@$(BIN)/python tools/generate_docs.py

compare: $(READY) ## measure SECTIONS (the cores on the shipped dump, page lists, write-back), print what changed from bench/performance.json; fails if slower (RECORD=1: for docs/signoff.md)
	@$(BIN)/cdma bench $(addprefix --only ,$(SECTIONS)) $(addprefix --liberty ,$(LIBERTY)) --build-dir $(BUILD)/sim --compare bench/performance.json --fail-over 1 $(if $(RECORD),--json > $(BUILD)/compare.json)
	@$(if $(RECORD),$(BIN)/python tools/sign_off.py figures $(BUILD)/compare.json)

report: $(READY) ## build the HTML report of the shipped dumps into build/report: sizes, and what the engine gains
	@$(BIN)/python tools/build_report.py $(BUILD)/report

signoff: docs ## print the checklist of docs/signoff.md, made from stored results; fails when an item is not met
	@$(BIN)/python tools/sign_off.py

docs: $(READY) ## write the generated pages and the generated parts of pages again
	@$(BIN)/python tools/generate_docs.py

clean: ## delete what was generated
	@rm -rf $(BUILD) dist .pytest_cache .ruff_cache .hypothesis

distclean: clean ## delete the virtual environment too
	@rm -rf $(VENV)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
