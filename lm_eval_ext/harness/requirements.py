"""What the tasks of a family need, which ``doctor`` checks, and what a run checks before it loads its model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from lm_eval_ext import sources

if TYPE_CHECKING:
    from lm_eval_ext.verifiers.tokenization import Data


class Requirements(ABC):
    """What can be asked of a family's class of tasks, without a task: its datasets, and what has to be installed."""

    NLTK_DATA: ClassVar[Sequence[Data]] = ()
    """What ``nltk_data`` returns if it is the same for all leaves."""

    @classmethod
    @abstractmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the family's datasets by name, each with the name of a task that reads it."""

    @classmethod
    def datasets_at(cls, source: str) -> list[str]:
        """Return the datasets that must be valid at a source other than the hub; empty if it contains none of them.

        Args:
            source: ``"embedded"``, a folder or a file.
        """
        if source == sources.EMBEDDED:
            return list(cls.datasets())
        files = sources.file_names(source)
        return [name for name in cls.datasets() if any(file.startswith(f"{name}_") for file in files)]

    @classmethod
    def hub_datasets(cls) -> list[sources.HubDataset]:
        """Return the locations of the datasets on the hub."""
        return []

    @classmethod
    def web_address(cls) -> tuple[str, str] | None:
        """Return the website of files that are not on the hub, and the address of one of them."""
        return None

    @classmethod
    def incomplete(cls, _datasets: Collection[str]) -> str:
        """Return a description of what a source with these datasets still lacks; empty if nothing."""
        return ""

    @classmethod
    def nltk_data(cls, _config: Mapping[str, Any]) -> Sequence[Data]:
        """Return the data of NLTK without which a leaf certainly cannot be loaded; see ``prerequisites``.

        Args:
            config: the leaf's config; its ``metadata`` include those of the run.
        """
        return cls.NLTK_DATA

    @classmethod  # noqa: B027 # most families need none
    def require_readers(cls, _config: Mapping[str, Any]) -> None:
        """Check that what reads a leaf's answers is there, apart from the harness; see ``prerequisites``.

        Args:
            config: as for ``nltk_data``.

        Raises:
            ValueError: a reader is missing; the message says how to get it.
        """
