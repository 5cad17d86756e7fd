"""Puts the autoload line beside the package in an editable install too."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class AutoloadInEditableInstall(BuildHookInterface):  # type: ignore[type-arg] # generic only for type checkers
    """Without it an editable wheel would carry every force-included file, and a second copy of the tasks with them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Restrict what an editable wheel force-includes to the ``.pth`` file."""
        if version == "editable":
            build_data["force_include_editable"] = {"lm_eval_ext.pth": "lm_eval_ext.pth"}
