"""Rows in several wordings through the real harness: known answers, what is recorded, and what can be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from lm_eval_ext.reports.gate.units import Compared, Sides
from lm_eval_ext.results.load import load_apart
from tests.conftest import EvaluateEach, Run

pytestmark = pytest.mark.harness

WORDINGS, ROWS = 5, 8
NATURAL, UNNATURAL, THOUGHT = (
    "verbalizer_sst2_natural_golden",
    "verbalizer_rte_unnatural_flipped",
    "verbalizer_cot_sst2_neutral_foo_bar",
)
TASKS = (NATURAL, UNNATURAL, THOUGHT)
POLICIES = ("oracle", "prior", "first_wording")
FRESH = "verbalizer_qqp_neutral_sfo_lax"
GROUP = "verbalizer_subj"


@pytest.fixture(scope="module")
def runs(evaluate_each: EvaluateEach, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    def options(policy: str, tasks: str, limit: int, **metadata: object) -> tuple[str, ...]:
        given = json.dumps({"source": "embedded", "details": True, **metadata})
        model = ("--model", "reference", "--model_args", f"policy={policy},seed=1")
        return (*model, "--tasks", tasks, "--limit", str(limit), "--metadata", given)

    asked = {policy: options(policy, ",".join(TASKS), WORDINGS * ROWS, paraphrases=WORDINGS) for policy in POLICIES}
    asked |= {
        "plain": options("oracle", NATURAL, ROWS),
        "fresh": options("oracle", FRESH, 2 * ROWS, paraphrases=2, row_seed=7),
        "group": options("first_wording", GROUP, 4, paraphrases=2),
        "cut": options("first_wording", NATURAL, WORDINGS + 1, paraphrases=WORDINGS),
        "drawn": options("random", NATURAL, WORDINGS * ROWS, paraphrases=WORDINGS, repeats=3),
    }
    return evaluate_each(tmp_path_factory.mktemp("paraphrases"), asked)


# policy -> accuracy, share of rows right in every wording, spread over wordings
RIGHT, WRONG, IN_ONE = (1.0, 1.0, 0.0), (0.0, 0.0, 0.0), (1 / WORDINGS, 0.0, 1.0)
EXPECTED = {
    **{("oracle", task): RIGHT for task in TASKS},
    **{("prior", NATURAL): RIGHT, ("prior", UNNATURAL): WRONG, ("prior", THOUGHT): WRONG},
    **{("first_wording", task): IN_ONE for task in TASKS},
}


def by_wording(run: Run, task: str) -> list[float]:
    return [run.score(task, f"acc_paraphrase_{number}") for number in range(1, WORDINGS + 1)]


@pytest.mark.parametrize(("policy", "task"), EXPECTED)
def test_the_scores_are_those_that_the_policy_implies(runs: Mapping[str, Run], policy: str, task: str) -> None:
    run, (acc, reliable, sensitivity) = runs[policy], EXPECTED[policy, task]
    assert run.score(task, "acc") == pytest.approx(acc)
    assert run.score(task, f"reliable_at_{WORDINGS}") == reliable
    assert run.score(task, "prompt_sensitivity") == sensitivity
    others = acc if sensitivity == 0 else 0.0
    assert by_wording(run, task) == [float(acc > 0), *[others] * (WORDINGS - 1)]


def test_a_row_without_some_of_its_wordings_counts_for_no_figure_over_wordings(runs: Mapping[str, Run]) -> None:
    run, asked = runs["cut"], WORDINGS + 1
    # Of the second row only the published wording was asked, which is right.
    assert run.score(NATURAL, "acc") == pytest.approx(2 / asked)
    assert run.score(NATURAL, f"reliable_at_{WORDINGS}") == 0.0
    assert run.score(NATURAL, "prompt_sensitivity") == 1.0
    assert [sample["acc_paraphrase_1"] for sample in run.samples[NATURAL]] == [[1.0, 1], *[[0.0, 0]] * WORDINGS]
    assert f"{NATURAL}: --limit or --samples leave 1 rows without some of their 5 variants" in run.output
    (loaded,) = load_apart([[run.folder]])
    (read,) = loaded.counting
    assert read.rows is not None
    assert read.rows.values["acc"].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert any(f"1 of {asked} answers left out" in str(issue) for issue in loaded.issues)


def test_every_row_is_asked_in_all_wordings_one_after_the_other(runs: Mapping[str, Run]) -> None:
    run, plain = runs["oracle"], runs["plain"]
    docs = [sample["doc"] for sample in run.samples[NATURAL]]
    assert [doc["paraphrase"] for doc in docs] == [1, 2, 3, 4, 5] * ROWS
    assert [doc["row"] for doc in docs] == [number for number in range(ROWS) for _ in range(WORDINGS)]
    assert [doc["sentence"] for doc in docs[::WORDINGS]] == [line["doc"]["sentence"] for line in plain.samples[NATURAL]]
    prompts = [line["arguments"]["gen_args_0"]["arg_0"] for line in run.samples[NATURAL]]
    assert len(set(prompts[:WORDINGS])) == WORDINGS
    assert prompts[::WORDINGS] == [line["arguments"]["gen_args_0"]["arg_0"] for line in plain.samples[NATURAL]]
    assert "paraphrase" not in plain.samples[NATURAL][0]["doc"]


def test_the_results_record_their_number_and_the_same_rows(runs: Mapping[str, Run]) -> None:
    found, plain = (runs[name].results["configs"][NATURAL]["metadata"] for name in ("oracle", "plain"))
    assert found["paraphrases"] == WORDINGS
    assert (found["version"], plain["version"]) == ("1.2+embedded+paraphrases5", "1.2+embedded")
    assert found["rows_hash"] == plain["rows_hash"]
    assert not [name for name in runs["plain"].results["results"][NATURAL] if "paraphrase" in name]


def test_a_row_seed_draws_rows_and_words_for_every_wording(runs: Mapping[str, Run]) -> None:
    run = runs["fresh"]
    assert (run.score(FRESH, "acc"), run.score(FRESH, "prompt_sensitivity")) == (1.0, 0.0)
    metadata = run.results["configs"][FRESH]["metadata"]
    assert metadata["version"] == "1.2+embedded+seed7+paraphrases2"
    words = set(metadata["label_words"].values())
    assert words.isdisjoint({"sfo", "lax"})
    for line in run.samples[FRESH]:
        assert all(f'"{word}"' in line["arguments"]["gen_args_0"]["arg_0"] for word in words)


def test_a_group_has_the_mean_accuracy_and_leaves_the_spread_to_its_tasks(runs: Mapping[str, Run]) -> None:
    found = runs["group"].results["results"]
    assert found[GROUP]["acc,answer"] == 0.5
    assert runs["group"].results["versions"][GROUP] == "1.2+embedded+paraphrases2"
    assert not [name for name in found[GROUP] if name.startswith(("prompt_sensitivity", "reliable_at"))]
    assert all(found[task]["prompt_sensitivity,answer"] == 1.0 for task in runs["group"].samples)


def test_with_several_draws_the_spread_is_that_of_the_accuracies(runs: Mapping[str, Run]) -> None:
    run = runs["drawn"]
    accuracies = by_wording(run, NATURAL)
    assert run.score(NATURAL, "prompt_sensitivity") == pytest.approx(max(accuracies) - min(accuracies))
    of_rows: dict[int, list[list[float]]] = {}
    for line in run.samples[NATURAL]:
        of_rows.setdefault(line["doc"]["row"], []).append(line["draws"]["acc"])
    all_right = [min(draw) for answers in of_rows.values() for draw in zip(*answers, strict=True)]
    assert len(all_right) == 3 * ROWS
    assert run.score(NATURAL, f"reliable_at_{WORDINGS}") == pytest.approx(sum(all_right) / len(all_right))


def sides(before: Run, after: Run) -> Sides:
    first, second = load_apart([[before.folder], [after.folder]])
    return Sides(first, second, ("A", "B"))


def test_a_run_without_paraphrases_is_not_comparable(runs: Mapping[str, Run]) -> None:
    found = sides(runs["plain"], runs["oracle"]).take(NATURAL)
    assert str(found) == "version 1.2+embedded in A, 1.2+embedded+paraphrases5 in B"


def test_the_wordings_of_a_row_are_one_observation(runs: Mapping[str, Run]) -> None:
    found = sides(runs["oracle"], runs["prior"]).take(NATURAL)
    assert isinstance(found, Compared)
    for run in (found.pairs[0].before, found.pairs[0].after):
        assert run.rows is not None
        assert run.rows.clusters.tolist() == [number for number in range(ROWS) for _ in range(WORDINGS)]
    # The rows of a run without paraphrases are the same ones.
    (plain,) = load_apart([[runs["oracle"].folder, runs["plain"].folder]])
    clusters = {len(run.rows): run.rows.clusters.tolist() for run in plain.counting if run.task == NATURAL and run.rows}
    assert clusters[ROWS] == list(range(ROWS))
    assert set(clusters[ROWS * WORDINGS]) == set(clusters[ROWS])
