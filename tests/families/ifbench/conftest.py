"""Nothing here can be judged without NLTK's data."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _language_data(language_data: None) -> None:
    """Skip every test of this folder where they are not installed."""
