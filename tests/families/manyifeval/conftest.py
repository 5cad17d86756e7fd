"""Nothing here can be judged without NLTK's sentence data; most claims about rows are about two sources of them."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _sentence_data(sentence_data: None) -> None:
    """Skip every test of this folder where they are not installed."""


@pytest.fixture(scope="session", params=["embedded", "real"])
def source(request: pytest.FixtureRequest) -> str:
    """Return the embedded rows and a copy of IFEval, in turn."""
    return "embedded" if request.param == "embedded" else str(request.getfixturevalue("real_ifeval"))
