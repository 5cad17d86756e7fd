"""What hatchling does not do by itself: an editable install's autoload line, and a word about a link that is none."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LinksAndAutoload(BuildHookInterface):  # type: ignore[type-arg] # generic only for type checkers
    """Checks that the links that an install needs are links; puts the autoload line into an editable install too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Refuse a checkout without the links; restrict what an editable wheel force-includes to the ``.pth`` file.

        Without the restriction it would carry every force-included file, and a second copy of the tasks with them.
        """
        self._check("lm_eval_ext/verifiers", "../verifiers")
        if version == "editable":
            self._check("editable/lm_eval_ext", "../lm_eval_ext")
            build_data["force_include_editable"] = {"lm_eval_ext.pth": "lm_eval_ext.pth"}

    def _check(self, link: str, target: str) -> None:
        if not Path(self.root, link, "__init__.py").is_file():
            self.app.abort(
                f"{link} is no link to {target} here: this checkout was made without symbolic links, or is incomplete. "
                f"`git config core.symlinks true` and `git checkout {link}` make it (on Windows in developer mode); a "
                "built wheel needs no link."
            )
