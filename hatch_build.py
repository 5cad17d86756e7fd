"""What hatchling does not do by itself: an editable install's autoload line, and a word about a link that is none."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LinkedVerifiersAndAutoload(BuildHookInterface):  # type: ignore[type-arg] # generic only for type checkers
    """Checks that the link to ``verifiers/`` is one, and puts the autoload line into an editable install too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Refuse a checkout without the link; restrict what an editable wheel force-includes to the ``.pth`` file.

        Without the restriction it would carry every force-included file, and a second copy of the tasks with them.
        """
        if not Path(self.root, "lm_eval_ext/verifiers/__init__.py").is_file():
            self.app.abort(
                "lm_eval_ext/verifiers is no link to ../verifiers here: this checkout was made without symbolic links, "
                "or is incomplete. `git config core.symlinks true` and `git checkout lm_eval_ext/verifiers` make it "
                "(on Windows in developer mode); a built wheel needs no link."
            )
        if version == "editable":
            build_data["force_include_editable"] = {"lm_eval_ext.pth": "lm_eval_ext.pth"}
