"""What the harness writes down of the machine comes from pip and other processes, a second per run: not in tests.

Imported before torch, or copied as the ``sitecustomize`` of an interpreter that a test starts.
"""

import sys
from types import ModuleType

collect_env = ModuleType("torch.utils.collect_env")
collect_env.get_pretty_env_info = lambda: "not collected in tests"  # type: ignore[attr-defined]
sys.modules["torch.utils.collect_env"] = collect_env
