"""Nothing here can be judged without NLTK's sentence data."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _sentence_data(sentence_data: None) -> None:
    """Skip every test of this folder where they are not installed."""
