"""Nothing here can be drawn without NLTK's sentence data, stop words and tagger."""

import pytest

from lm_eval_ext.verifiers import MissingDataError
from lm_eval_ext.verifiers.nltk_data import PUNKT, STOP_WORDS, TAGGER, find


@pytest.fixture(scope="session", autouse=True)
def _all_data() -> None:
    """Skip every test of this folder where they are not installed."""
    try:
        for data in (PUNKT, STOP_WORDS, TAGGER):
            find(data)
    except MissingDataError as error:
        pytest.skip(str(error))
