"""Stand-ins for two libraries that no package index has for the Python of the tests, as small as what is used of them.

The integrations were run with the real ones (docs/appendix/integrations.md).
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel


@dataclasses.dataclass
class VerificationResult:
    score: float
    cost: float = 0.0
    reasoning: str | None = None


class VerifierFunction:
    def __init__(self, name: str, weight: float = 1.0, verifier_config: object = None) -> None:
        self.name, self.weight, self.verifier_config = name, weight, verifier_config


class ReverifyMode(str, Enum):
    STATELESS = "stateless"


class Part(BaseModel):
    text: str


class Item(BaseModel):
    content: list[Part] | None = None


class GymResponse(BaseModel):
    output: list[Item]


class BaseVerifyRequest(BaseModel):
    response: GymResponse


class BaseVerifyResponse(BaseVerifyRequest):
    reward: float


class SimpleResourcesServer(BaseModel):
    config: Any


OPEN_INSTRUCT = SimpleNamespace(
    VerificationResult=VerificationResult, VerifierConfig=object, VerifierFunction=VerifierFunction
)
NEMO_GYM = SimpleNamespace(
    BaseResourcesServerConfig=BaseModel,
    BaseVerifyRequest=BaseVerifyRequest,
    BaseVerifyResponse=BaseVerifyResponse,
    ReverifyMode=ReverifyMode,
    SimpleResourcesServer=SimpleResourcesServer,
)


def integration(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an integration, imported anew with the stand-in for the module of a library that it imports."""
    package, _, rest = module.partition(".")
    stand_in = {"open_instruct": OPEN_INSTRUCT, "nemo_gym": NEMO_GYM}[package]
    inner, outer = ModuleType(module), ModuleType(package)
    vars(inner).update(vars(stand_in))
    setattr(outer, rest, inner)
    monkeypatch.setitem(sys.modules, package, outer)
    monkeypatch.setitem(sys.modules, module, inner)
    monkeypatch.delitem(sys.modules, f"lm_eval_ext.integrations.{name}", raising=False)
    try:
        return importlib.import_module(f"lm_eval_ext.integrations.{name}")
    finally:
        sys.modules.pop(f"lm_eval_ext.integrations.{name}", None)
