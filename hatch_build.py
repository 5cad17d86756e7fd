"""What hatchling does not do by itself: add the autoload line to an editable install, and check symbolic links."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LinksAndAutoload(BuildHookInterface):  # type: ignore[type-arg] # generic only for type checkers
    """Checks the links that an install needs, and adds the autoload line to an editable install too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Refuse a checkout without the links; restrict what an editable wheel force-includes to the ``.pth`` file.

        Without the restriction it would contain every force-included file, including a second copy of the tasks.
        """
        self._check("lm_eval_ext/verifiers", "../verifiers")
        if version == "editable":
            self._check("editable/lm_eval_ext", "../lm_eval_ext")
            build_data["force_include_editable"] = {"lm_eval_ext.pth": "lm_eval_ext.pth"}

    def _check(self, link: str, target: str) -> None:
        if not Path(self.root, link, "__init__.py").is_file():
            self.app.abort(
                f"{link} is not a link to {target}: this checkout was made without symbolic links, or is incomplete. "
                f"Create it with `git config core.symlinks true` and `git checkout {link}` (on Windows, in developer "
                "mode). A built wheel does not need it."
            )
