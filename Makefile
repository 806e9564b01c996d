# Thin: each target is one command of its own. `make setup` costs nothing when nothing changed.
SHELL := /bin/bash
CLUSTER ?= icefield
BIN := .venv/bin
PLAY := $(BIN)/ansible-playbook -e cluster_name=$(CLUSTER)

.PHONY: setup demo test lint unit ccl-tests cluster-tests test-glue test-ccl test-ipex docs destroy

setup:
	@scripts/setup

demo: setup
	@source .venv/bin/activate && $(PLAY) provision.yml -e nodes=2
	@source .venv/bin/activate && $(PLAY) train.yml -e nodes=2 -e epochs=1 -e global_batch_size=48 -e learning_rate=1e-4

test: lint unit ccl-tests cluster-tests

lint: setup
	@scripts/lint

unit: setup
	@source .venv/bin/activate && pytest -q -m "not cluster" tests

ccl-tests:
	@scripts/ccl-tests

cluster-tests: setup
	@scripts/cluster-tests

test-glue: setup
	@source .venv/bin/activate && pytest -m long tests/runs/test_glue_floors.py

test-ccl: setup
	@source .venv/bin/activate && pytest tests/runs/test_ccl.py

test-ipex: setup
	@source .venv/bin/activate && pytest tests/runs/test_ipex.py

docs: setup
	@$(BIN)/python docs/generate.py

destroy: setup
	@source .venv/bin/activate && $(PLAY) destroy.yml
