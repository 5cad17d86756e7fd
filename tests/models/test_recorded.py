"""``--model recorded``: the answers of an earlier run, scored again."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

from lm_eval_ext import cli
from lm_eval_ext.harness.lm import PASSED_TO_EVERY_LM
from lm_eval_ext.models.recorded import RecordedLM
from lm_eval_ext.results.load import load
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import Response
from tests.across_versions import plain_instance
from tests.conftest import Run, written
from tests.families.jsonl import write_jsonl
from tests.harness.tasks import evaluate
from tests.own_tasks import RUNNABLE, write_tasks
from tests.own_tasks import evaluate as evaluate_others
from tests.tables import tables

# Instructions of the rows are judged with them.
pytestmark = [pytest.mark.harness, pytest.mark.usefixtures("language_data")]

ROWS = 4
RUNS: Mapping[str, tuple[str, str, Sequence[str], Mapping[str, Any]]] = tables(__file__, "runs")


def recorded(folder: Path, again: Path, tasks: Sequence[str], arguments: str = "", **options: Any) -> dict[str, Any]:
    return evaluate("recorded", tasks, {"details": True}, again, model_args=f"samples={folder}{arguments}", **options)


def run_of(folder: Path) -> Run:
    return Run(0, "", *written(folder), folder)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_each_family_is_scored_again_as_it_was(name: str, tmp_path: Path) -> None:
    model, arguments, tasks, options = RUNS[name]
    first, again = tmp_path / "first", tmp_path / "again"
    evaluate(model, tasks, {"details": True}, first, model_args=arguments, limit=ROWS, **options)
    recorded(first, again, tasks, limit=ROWS, **options)
    one, other = run_of(first), run_of(again)
    assert other.samples == one.samples
    assert other.results["results"] == one.results["results"]
    assert {task for task in tasks if len(one.samples[task]) < ROWS} == set()

    said = other.results["config"]["recorded"]
    assert said["answers"] == {next(first.glob("*/results_*.json")).name: sum(requests_of(one, task) for task in tasks)}
    assert (said["model"], "missing" in said, "generated_otherwise" in said) == (model, False, False)
    # It is the model of the recorded run, in another setting.
    (model_of_first,), (model_of_again,) = (load([folder]).models for folder in (first, again))
    assert model_of_again.full_name == model_of_first.full_name
    assert set(model_of_again.setting) - set(model_of_first.setting) == {("recorded answers", str(first))}


def requests_of(run: Run, task: str) -> int:
    of_rows = {sample["doc_id"]: len(sample["arguments"]) for sample in run.samples[task]}
    return sum(of_rows.values())


def test_tasks_that_are_not_ours_are_scored_again_as_they_were(tmp_path: Path) -> None:
    # Texts, log-likelihoods of choices and of whole texts, two filters.
    tasks = write_tasks(tmp_path / "tasks")
    first = evaluate_others(tasks, tmp_path / "first", wrong=3, names=RUNNABLE)
    manager = TaskManager(include_path=[str(tasks)], include_defaults=False)
    found = simple_evaluate(
        "recorded", f"samples={first}", [*RUNNABLE], task_manager=manager, bootstrap_iters=10, verbosity="ERROR"
    )
    one = run_of(first)
    assert len(one.samples) == len(RUNNABLE) > 2
    assert figures(found) == figures(one.results)


def figures(run: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the figures of each task, without standard errors: those of some aggregations are bootstrapped."""
    return {
        task: {name: value for name, value in results.items() if "_stderr" not in name}
        for task, results in run["results"].items()
    }


def test_every_draw_of_a_row_is_given_again_and_a_single_one_is_the_first(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    task, first = "verbalizer_snli_unnatural_flipped", tmp_path / "first"
    drawn = {"repeats": 3, "details": True}
    evaluate("reference", [task], drawn, first, model_args="policy=random", limit=ROWS)
    evaluate("recorded", [task], drawn, tmp_path / "again", model_args=f"samples={first}", limit=ROWS)
    one, other = run_of(first), run_of(tmp_path / "again")
    assert other.samples == one.samples
    assert len({*one.samples[task][0]["resps"][0], *one.samples[task][1]["resps"][0]}) > 1, "all draws are alike"

    with caplog.at_level(logging.WARNING, "lm_eval"):
        recorded(first, tmp_path / "single", [task], limit=ROWS)
    single = run_of(tmp_path / "single").samples[task]
    assert [row["resps"] for row in single] == [[row["resps"][0][:1]] for row in one.samples[task]]
    assert f"{task}: {ROWS} prompts were answered 3 times, of which the first 1 count" in caplog.text
    with pytest.raises(ValueError, match=r"row 0: 3 draws were recorded, and 4 are asked for"):
        evaluate("recorded", [task], {"repeats": 4}, model_args=f"samples={first}", limit=1)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recorded run of four rows of two tasks."""
    folder = tmp_path_factory.mktemp("recorded")
    tasks = ["manyifeval_n02", "paired_mcq_arc_challenge_low"]
    evaluate("reference", tasks, {}, folder, model_args="policy=oracle", limit=ROWS)
    return folder


def test_fewer_rows_may_be_asked_for_but_more_are_an_error_that_counts_them(first: Path, tmp_path: Path) -> None:
    recorded(first, tmp_path, ["manyifeval_n02"], limit=2)
    assert len(run_of(tmp_path).samples["manyifeval_n02"]) == 2
    message = r"no recorded answer to 3 of 7 requests for a text: manyifeval_n02 \(3\)\. For "
    with pytest.raises(ValueError, match=message) as e:
        recorded(first, tmp_path, ["manyifeval_n02"], limit=ROWS + 3)
    assert "manyifeval_n02, row 4: its prompt, which begins 'Write " in str(e.value)
    assert "or missing=empty to count them as empty" in str(e.value)


def test_missing_texts_count_as_empty_on_request_and_every_reader_of_the_results_says_so(
    first: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded(first, tmp_path / "again", ["manyifeval_n02"], ",missing=empty", limit=ROWS + 1)
    run = run_of(tmp_path / "again")
    assert run.results["config"]["recorded"]["missing"] == {"manyifeval_n02": 1}
    assert [row["resps"] for row in run.samples["manyifeval_n02"]][ROWS] == [[""]]
    # The oracle follows all but the one that is missing.
    assert run.results["results"]["manyifeval_n02"]["prompt_level_strict_acc,none"] == ROWS / (ROWS + 1)
    assert cli.main(["compare", str(tmp_path / "again"), "--against", str(first)]) == 0
    said = capsys.readouterr().err
    assert f"reference policy=oracle: answers of an earlier run ({first}), scored again" in said
    assert "answers that were not recorded count as empty: manyifeval_n02 (1 of 5)" in said
    # What was missing is no answer: such a run is not recorded again.
    (samples,) = (tmp_path / "again").glob("*/samples_*.jsonl")
    for place in (tmp_path / "again", samples):
        with pytest.raises(RowsError, match="a run of recorded answers, some of which were missing and count as empty"):
            RecordedLM(str(place))


def test_answers_of_a_run_without_scores_are_scored(first: Path, tmp_path: Path) -> None:
    task = "manyifeval_n02"
    evaluate("reference", [task], {}, tmp_path / "first", model_args="policy=oracle", limit=ROWS, predict_only=True)
    assert "prompt_level_strict_acc" not in run_of(tmp_path / "first").samples[task][0]
    recorded(tmp_path / "first", tmp_path / "again", [task], limit=ROWS)
    scores = [row["prompt_level_strict_acc"] for row in run_of(tmp_path / "again").samples[task]]
    assert scores == [row["prompt_level_strict_acc"] for row in run_of(first).samples[task]] == [1.0] * ROWS


def test_conversations_of_a_run_without_scores_are_scored(tmp_path: Path) -> None:
    tasks = ["ifbench_two_turns", "manyifeval_turns"]
    options: dict[str, Any] = {"limit": ROWS, "apply_chat_template": True}
    for name, without in (("scored", False), ("first", True)):
        given = {**options, "model_args": "base=reference,policy=oracle", "predict_only": without}
        evaluate("conversation", tasks, {}, tmp_path / name, **given)
    recorded(tmp_path / "first", tmp_path / "again", tasks, **options)
    assert run_of(tmp_path / "again").samples == run_of(tmp_path / "scored").samples


def test_missing_log_likelihoods_are_an_error_even_then(first: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"25 of 25 requests for a log-likelihood: paired_mcq_arc_challenge_medium"):
        recorded(first, tmp_path, ["paired_mcq_arc_challenge_medium"], ",missing=empty", limit=5)


def test_an_answer_to_another_prompt_is_none(first: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="manyifeval_n02, row 0: it was recorded with another prompt") as error:
        recorded(first, tmp_path, ["manyifeval_n02"], limit=1, system_instruction="Be brief.")
    assert "which differs from character 0 on: 'Write an email" in str(error.value)
    assert "not 'Be brief." in str(error.value)
    with pytest.raises(ValueError, match=r"no answers to ifbench were recorded, only to manyifeval_n02, paired_mcq_"):
        recorded(first, tmp_path, ["ifbench"], limit=1)


def test_an_answer_counts_for_another_task_with_the_same_prompt(first: Path, tmp_path: Path) -> None:
    recorded(first, tmp_path, ["text_mcq_arc_challenge_low"], limit=ROWS)
    again = run_of(tmp_path).samples["text_mcq_arc_challenge_low"]
    before = run_of(first).samples["paired_mcq_arc_challenge_low"]
    assert [row["resps"][-1] for row in again] == [row["resps"][-1] for row in before]


def test_answers_that_were_generated_otherwise_are_named_in_the_log_and_the_results(
    first: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "lm_eval"):
        recorded(first, tmp_path, ["manyifeval_n02"], limit=2, gen_kwargs="max_gen_toks=7")
    assert "2 answers were generated with" in caplog.text
    (said,) = run_of(tmp_path).results["config"]["recorded"]["generated_otherwise"]
    of_run, of_this = json.loads(said["recorded"]), json.loads(said["asked"])
    assert (said["task"], said["answers"]) == ("manyifeval_n02", 2)
    assert {name for name in of_run if of_run[name] != of_this[name]} == {"max_gen_toks"}
    assert (of_run["max_gen_toks"], of_this["max_gen_toks"]) == (1280, 7)


def test_compare_shows_what_a_change_of_the_code_changed(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    follows = Response.follows

    def stricter(response: Response, instructions: Any, *options: Any, **named: Any) -> Any:
        verdict = follows(response, instructions, *options, **named)
        broken = any(each.id == "startend:quotation" for each in instructions)
        return type(verdict)(tuple(each and not broken for each in verdict.follow_instruction_list))

    monkeypatch.setattr(Response, "follows", stricter)
    recorded(first, tmp_path, ["manyifeval_n02"], limit=ROWS)
    monkeypatch.undo()
    rows = run_of(first).samples["manyifeval_n02"]
    changed = sum("startend:quotation" in row["doc"]["instruction_id_list"] for row in rows)
    assert 0 < changed < ROWS
    assert cli.main(["compare", str(tmp_path), "--against", str(first), "--json", "-"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["findings"]
    assert (line["got_worse"], line["got_better"]) == (changed, 0)


# Files of responses.


def of_rows(folder: Path, *rows: Mapping[str, Any], model: str = "") -> RecordedLM:
    """Return the LM with the responses in a file."""
    return RecordedLM(write_jsonl(folder / "some-model.jsonl", rows), model=model)


def asked(prompt: str, row: int = 0, doc: Mapping[str, Any] | None = None) -> Any:
    return plain_instance("generate_until", {**(doc or {})}, (prompt, {"until": []}), row=row)


def test_pairs_of_prompt_and_response_are_answers_whoever_asks(tmp_path: Path) -> None:
    lm = of_rows(tmp_path, {"prompt": "Hi", "response": "Ho"}, {"prompt": "A", "response": None})
    assert lm.generate_until([asked("A"), asked("Hi"), asked("Hi", row=5)]) == ["", "Ho", "Ho"]
    assert lm.get_model_info()["recorded"]["model_args"] == {"model": "some-model"}
    with pytest.raises(ValueError, match=r"1 of 1 requests .* its prompt, which begins 'Hi!'"):
        lm.generate_until([asked("Hi!")])
    with pytest.raises(NotImplementedError, match=r"some-model\.jsonl has no log-likelihoods, only texts"):
        lm.loglikelihood([])


@pytest.mark.parametrize("name", PASSED_TO_EVERY_LM)
def test_what_the_harness_passes_to_every_lm_is_no_wrong_argument(name: str, tmp_path: Path) -> None:
    arguments: dict[str, Any] = {name: True}
    path = write_jsonl(tmp_path / "f.jsonl", [{"prompt": "Hi", "response": "Ho"}])
    assert RecordedLM(path, **arguments).generate_until([asked("Hi")]) == ["Ho"]


def test_a_conversation_of_one_message_is_that_message(tmp_path: Path) -> None:
    message = {"role": "user", "content": "Hi"}
    lm = of_rows(tmp_path, {"messages": [message], "response": "Ho"})
    assert lm.apply_chat_template([message]) == "Hi"
    system = [{"role": "system", "content": "Be brief."}, message]
    with pytest.raises(ValueError, match="1 of 1 requests"):
        lm.generate_until([asked(lm.apply_chat_template(system))])
    lm = of_rows(tmp_path, {"messages": system, "response": "Ho"})
    assert lm.generate_until([asked(lm.apply_chat_template(system))]) == ["Ho"]


def test_one_of_several_models_is_chosen_by_its_name(tmp_path: Path) -> None:
    rows = [{"model": name, "prompt": "Hi", "response": f"{name}!"} for name in ("a", "b")]
    assert of_rows(tmp_path, *rows, model="b").generate_until([asked("Hi")]) == ["b!"]
    message = r"answers of 2 models \(recorded model=a, recorded model=b\); expected one: name"
    with pytest.raises(RowsError, match=message):
        of_rows(tmp_path, *rows)
    with pytest.raises(RowsError, match="answers of no model called 'c'"):
        of_rows(tmp_path, *rows, model="c")


def test_a_model_may_be_called_by_its_last_name_where_that_is_its_own(tmp_path: Path) -> None:
    names = ("here/Large-1B", "there/Large-1B", "there/Small-1B")
    rows = [{"model": name, "prompt": "Hi", "response": f"{name}!"} for name in names]
    for called, name in (*((name, name) for name in names), ("Small-1B", names[2])):
        assert of_rows(tmp_path, *rows, model=called).generate_until([asked("Hi")]) == [f"{name}!"]
    message = r"answers of 2 models \(.*here/Large-1B, .*there/Large-1B\); expected one: name"
    with pytest.raises(RowsError, match=message):
        of_rows(tmp_path, *rows, model="Large-1B")
    assert of_rows(tmp_path, rows[0]).generate_until([asked("Hi")]) == ["here/Large-1B!"]


DATED = "{{ strftime_now('%d %b %Y, %H') }}: {{ messages[0].content }}"


def test_each_run_has_the_date_of_its_own_in_the_zone_of_its_machine(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = {"manyifeval_n02": "01 Mar 2026, 18", "paired_mcq_arc_challenge_low": "02 Mar 2026, 19"}
    # Begun a day apart, in New York, at six and at seven in the evening there, and finished two hours later.
    clocks = (1_772_406_000, "2026-03-01T20-00-00.123456"), (1_772_496_000, "2026-03-02T21-00-00.123456")
    for (task, hour), (begun, finished) in zip(hours.items(), clocks, strict=True):
        (results,) = first.glob("*/results_*.json")
        content = json.loads(results.read_text(encoding="utf-8"))
        tables = {name: {task: content[name][task]} for name in ("results", "configs", "versions", "n-samples")}
        dated = {"date": begun, "total_evaluation_time_seconds": "7200.5", "chat_template": DATED}
        (tmp_path / f"results_{finished}.json").write_text(json.dumps({**content, **tables, **dated}), encoding="utf-8")
        line = json.loads(next(first.glob(f"*/samples_{task}_*.jsonl")).read_text(encoding="utf-8").splitlines()[0])
        line["arguments"]["gen_args_0"]["arg_0"] = f"{hour}: {task}"
        (tmp_path / f"samples_{task}_{finished}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    for zone in ("UTC", "Asia/Tokyo"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        lm = RecordedLM(str(tmp_path))
        # Of a prompt that nobody recorded, that of the newest run.
        for task, hour in (*hours.items(), ("another", "02 Mar 2026, 19")):
            assert lm.apply_chat_template([{"role": "user", "content": task}]) == f"{hour}: {task}"
    monkeypatch.undo()
    time.tzset()


def test_several_answers_to_a_prompt_are_draws_unless_their_keys_differ(tmp_path: Path) -> None:
    draws = [{"prompt": "Hi", "response": text} for text in ("1", "2")]
    request = asked("Hi")
    request.repeats = 2
    assert of_rows(tmp_path, *draws).generate_until([request, request]) == ["1", "2"]
    keyed = [{"prompt": "Hi", "response": f"{key}", "key": key} for key in (1, 2)]
    lm = of_rows(tmp_path, *keyed)
    assert lm.generate_until([asked("Hi", doc={"key": 2}), asked("Hi", doc={"key": 1})]) == ["2", "1"]
    message = r"a_task, row 0: its prompt has 2 recorded answers, which differ, and none is of"
    with pytest.raises(ValueError, match=message):
        lm.generate_until([asked("Hi", doc={"key": 3})])


def test_the_newest_run_of_a_row_counts(tmp_path: Path) -> None:
    task = "verbalizer_snli_unnatural_flipped"
    for name, policy in (("a", "oracle"), ("b", "prior")):
        evaluate("reference", [task], {}, tmp_path / name, model_args="policy=oracle", limit=2)
        file = next((tmp_path / name).glob("*/samples_*.jsonl"))
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace('"resps": [["', f'"resps": [["{policy}: '), encoding="utf-8")
    recorded(tmp_path, tmp_path / "again", [task], limit=2)
    assert [row["resps"][0][0][:7] for row in run_of(tmp_path / "again").samples[task]] == ["prior: "] * 2


def test_a_chat_template_that_was_not_recorded_is_an_error(first: Path, tmp_path: Path) -> None:
    results = next(first.glob("*/results_*.json"))
    of_others = {"config": {"model": "hf", "model_args": "pretrained=m"}}
    content = json.loads(results.read_text(encoding="utf-8"))
    (tmp_path / results.name).write_text(json.dumps({**content, **of_others}), encoding="utf-8")
    for samples in first.glob("*/samples_*.jsonl"):
        (tmp_path / samples.name).write_bytes(samples.read_bytes())
    with pytest.raises(ValueError, match=r"--apply_chat_template, but results_\S+ has no chat template"):
        RecordedLM(str(tmp_path)).apply_chat_template([{"role": "user", "content": "Hi"}])


@pytest.mark.parametrize(
    ("name", "task", "field", "expected"),
    [("self_refine", "manyifeval_n03", "rounds", [2, 1]), ("ifbench, two turns", "ifbench_two_turns", "turns", [2, 2])],
)
def test_missing_answers_of_several_rounds_are_empty_in_each(
    name: str, task: str, field: str, expected: Sequence[int], tmp_path: Path
) -> None:
    model, arguments, tasks, options = RUNS[name]
    evaluate(model, tasks, {}, tmp_path / "first", model_args=arguments, limit=1, **options)
    recorded(tmp_path / "first", tmp_path / "again", tasks, ",missing=empty", limit=2, **options)
    rows = [row[field] for row in run_of(tmp_path / "again").samples[task]]
    assert [len(row) for row in rows] == expected
    assert {each["answer"] for each in rows[1]} == {""}
    assert all(each["answer"] for each in rows[0])


def test_the_second_of_two_answers_is_none_to_the_first_message(tmp_path: Path) -> None:
    model, arguments, tasks, options = RUNS["ifbench, two turns"]
    evaluate(model, tasks, {}, tmp_path, model_args=arguments, limit=1, **options)
    (row,) = run_of(tmp_path).samples["ifbench_two_turns"]
    request = asked(row["arguments"]["gen_args_0"]["arg_0"])
    with pytest.raises(ValueError, match="its prompt was recorded as the first of two messages, which is another"):
        RecordedLM(str(tmp_path)).generate_until([request])
