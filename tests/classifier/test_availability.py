"""Where a causal model that reads answers runs: by default where the harness would run it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.availability import ReaderError, Runtime
from lm_eval_ext.classifier.causal import reader as causal_reader
from lm_eval_ext.classifier.causal.reader import CausalModel
from lm_eval_ext.classifier.reading import Answer
from tests.classifier.causal.models import DRINKS

torch: Any = pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")


def test_a_model_runs_on_a_gpu_if_there_is_one_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for there_is_one, device in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda found=there_is_one: found)
        assert Runtime().chosen_device == device
        assert Runtime("cpu").chosen_device == "cpu"
        assert Runtime("cuda:1").chosen_device == "cuda:1"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"device": "cuda:7"}, r"device 'cuda:7': not available here \(.+\); expected cpu, cuda, cuda:1"),
        ({"device": "gpu"}, r"device 'gpu': not available here"),
        ({"device": 0.5}, r"device 0.5: not available here"),
        ({"dtype": "fp8"}, "dtype 'fp8': expected one of auto, float32, bfloat16, float16"),
        ({"batch_size": 0}, "batch size 0: expected a whole number, at least 1"),
        ({"batch_size": True}, "batch size True: expected a whole number"),
        ({"batch_size": "8"}, "batch size '8': expected a whole number"),
    ],
)
def test_an_impossible_runtime_is_an_error_before_anything_is_loaded(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ReaderError, match=complaint):
        Runtime.of(given)


def test_missing_values_are_the_defaults() -> None:
    assert Runtime.of({"device": None, "dtype": "float16", "batch_size": None}) == Runtime(dtype="float16")


@pytest.mark.usefixtures("offline")
@pytest.mark.filterwarnings("ignore:for base_model:UserWarning")  # that nothing can be copied to "meta"
def test_a_model_and_its_adapter_are_on_the_device_and_the_base_has_the_type(learned: Path) -> None:
    # "meta" is a device of torch without memory: nothing can be computed there, but things are placed as anywhere.
    network = causal_reader.load(str(learned), "meta", "bfloat16").network
    assert {weight.device.type for weight in network.parameters()} == {"meta"}
    assert network.get_base_model().lm_head.weight.dtype == torch.bfloat16
    saved = causal_reader.load(str(learned), "cpu", "auto").network
    assert saved.get_base_model().lm_head.weight.dtype == torch.float32


def test_prompts_are_sent_to_the_models_device() -> None:
    class Elsewhere:
        """A network that records where its input is."""

        device = torch.device("meta")

        def generate(self, **inputs: Any) -> Any:
            assert {inputs[name].device.type for name in ("input_ids", "attention_mask")} == {"meta"}
            raise InterruptedError

    with pytest.raises(InterruptedError):
        causal_reader._next_token(CausalModel(Elsewhere(), None, {}), [[1, 2, 3], [4]])


@pytest.mark.usefixtures("offline")
def test_bfloat16_reads_as_float32_does_where_the_model_is_certain(learned: Path) -> None:
    answers = [Answer("tea", DRINKS), Answer("coffee", DRINKS)]
    found = readers.reader(str(learned), Runtime("cpu", "bfloat16", 1))(answers)
    assert [reading.value for reading in found] == ["A", "B"]


@pytest.mark.usefixtures("offline")
def test_readers_that_differ_in_their_batch_size_share_a_model(learned: Path) -> None:
    causal_reader.load.cache_clear()
    for size in (1, 2):
        causal_reader.causal_reader(str(learned), Runtime("cpu", batch_size=size))
    assert causal_reader.load.cache_info().misses == 1
