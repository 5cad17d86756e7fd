"""``lm-eval-ext manyifeval export``: the rows of the manyifeval tasks in the published schema."""

from __future__ import annotations

import argparse
import json
import sys

from lm_eval_ext.families.manyifeval.published import as_published
from lm_eval_ext.families.manyifeval.rows import all_rows


def add_export_to(export: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    export.add_argument("--source", default="hub", help='"hub" (the default), "embedded", a folder or a file')
    export.add_argument(
        "--split",
        choices=("test", "train", "fewshot"),
        default="test",
        help="test (the default): what the tasks evaluate; train; fewshot: the few-shot examples",
    )
    export.set_defaults(run=_export)


def _export(options: argparse.Namespace) -> int:
    for row in as_published(all_rows(options.source, options.split)):
        # ASCII works in any terminal or locale, and a prompt may contain what UTF-8 cannot encode (a lone surrogate).
        print(json.dumps(row))
    sys.stdout.flush()
    return 0
