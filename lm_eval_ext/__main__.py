"""``python -m lm_eval_ext``: the ``lm-eval-ext`` command."""

from __future__ import annotations

import sys

from lm_eval_ext.cli import main

sys.exit(main())
