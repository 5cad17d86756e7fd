"""Nothing here can be drawn without NLTK's sentence data, stop words and tagger."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _language_data(language_data: None) -> None:
    """Skip every test of this folder where they are not installed."""
