"""The report's section on conflicting instructions: known answers, planted scores, what is missing, examples."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from lm_eval_ext.families.hierarchy.rows import rivals
from lm_eval_ext.reports.figure import Section
from lm_eval_ext.reports.paired import difference_of
from lm_eval_ext.reports.sections.hierarchy.section import NOT_MEASURABLE, PAIRS, section
from lm_eval_ext.results.load import load
from tests.reports.conftest import ResultFolder
from tests.reports.planted import plant, without_samples
from tests.reports.sections.reading_tables import figure, names, numbers, section_on, titles, values

pytestmark = pytest.mark.usefixtures("sentence_data")

ARMS = [f"hierarchy_{arm}" for arm in ("system", "user", "aligned", "system_user", "user_later", "document", "tool")]
TURNS = [f"hierarchy_turns_{history}" for history in ("t02", "t12", "slipped_t02", "slipped_t12")]
ROWS = 20
"""Ten task prompts, each twice: with the first instruction of its pair, and with the second, as the one that counts."""
POLICIES = ("oracle", "system", "document", "forgets_after_2")
section_of = partial(section_on, section)
SYSTEM_USER, USER_LATER = "system message against user", "user against an earlier turn"
DOCUMENT, TOOL = "user against a document", "user against a tool's output"
# Whom each policy obeys, by arm: 1 if it is whom it should.
OBEYS = {
    "system message alone": (1, 1, 1, 1),
    "user alone": (1, 0, 1, 1),
    "both say the same": (1, 1, 1, 1),
    SYSTEM_USER: (1, 1, 1, 1),
    USER_LATER: (1, 0, 1, 1),
    DOCUMENT: (1, 0, 0, 1),
    TOOL: (1, 0, 0, 1),
}


def name_of(policy: str) -> str:
    return f"reference policy={policy}"


@pytest.fixture(scope="module")
def folders(result_folder: ResultFolder, sentence_data: None) -> dict[str, Path]:
    return {policy: result_folder(policy, (*ARMS, *TURNS), limit=ROWS, chat=True) for policy in POLICIES}


@pytest.fixture(scope="module")
def known(folders: dict[str, Path]) -> Section:
    """The section of four policies of the reference model."""
    return section_of(*folders.values())


@pytest.fixture(scope="module")
def planted(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The oracle's run, in which the second instruction of a pair loses every conflict, and every slip is repeated."""
    lost: dict[str, dict[int, float]] = {arm: dict.fromkeys(range(1, ROWS, 2), 0.0) for arm in ARMS[3:]}
    slips = {task: dict.fromkeys(range(5), 0.0) for task in TURNS[2:]}
    into = tmp_path_factory.mktemp("planted") / "run"
    return plant(folders["oracle"], into, "obeys", {**lost, **slips}, "policy=planted")


def test_every_policy_obeys_whom_it_should_or_not_and_the_controls_stand_beside_it(known: Section) -> None:
    assert names(known) == ["hierarchy_arms", "hierarchy_cost", "hierarchy_pairs", "hierarchy_turns"]
    assert titles(known, "hierarchy_arms") == ["one instruction", "two that exclude each other"]
    found = numbers(known, "hierarchy_arms")
    assert {about: cells["obeys"].value for about, cells in found.items()} == {
        (arm, name_of(policy)): obeys
        for arm, of_arm in OBEYS.items()
        for policy, obeys in zip(POLICIES, of_arm, strict=True)
    }
    # What is not obedience: the document wins, or neither is followed.
    by_document = values(found[DOCUMENT, name_of("document")])
    assert by_document == {column: float("rival" in column) for column in by_document}
    assert found[DOCUMENT, name_of("system")]["neither"].value == 1.0


def test_a_conflict_costs_what_is_followed_alone_and_not_beside_a_rival(known: Section) -> None:
    found = numbers(known, "hierarchy_cost")
    assert {about: cells["cost"].value for about, cells in found.items() if cells["cost"].exists} == {
        (name_of(policy), arm): float(policy == "document" and arm in (DOCUMENT, TOOL))
        for policy in POLICIES
        for arm in (SYSTEM_USER, USER_LATER, DOCUMENT, TOOL)
        if policy != "system" or arm == SYSTEM_USER
    }
    # Nothing to lose: alone, the user is not followed either.
    of_system = found[name_of("system"), TOOL]
    assert (of_system["alone"].value, of_system["under conflict"].value) == (0.0, 0.0)
    assert not of_system["cost"].exists
    (issue,) = figure(known, "hierarchy_cost").issues
    assert issue.text == f"{name_of('system')}: {NOT_MEASURABLE}: “{USER_LATER}”, “{DOCUMENT}”, “{TOOL}”"


def test_every_pair_has_a_name_that_says_what_its_first_and_second_ask_for() -> None:
    assert PAIRS.keys() == {pair.name for pair in rivals()}
    assert all("(first)" in said and "(second)" in said for said in PAIRS.values())


def test_the_cost_has_the_interval_of_pairs_of_answers_to_the_same_rows(planted: Path) -> None:
    cell = numbers(section_of(planted), "hierarchy_cost")[name_of("planted"), SYSTEM_USER]
    runs = {run.task: run for run in load([planted]).all}
    paired = difference_of([(runs["hierarchy_system_user"], runs["hierarchy_system"])], "obeys").change
    assert values(cell) == {"alone": 1.0, "under conflict": 0.5, "cost": 0.5}
    # The two rows of a task prompt are not independent.
    assert (cell["cost"], cell["cost"].rows) == (paired, ROWS / 2)


def test_only_rows_that_both_arms_have_are_compared(result_folder: ResultFolder) -> None:
    alone = result_folder("document", [ARMS[1]], limit=6, chat=True)
    found = section_of(alone, result_folder("document", [ARMS[5]], limit=4, chat=True))
    (issue,) = figure(found, "hierarchy_cost").issues
    left_out = f"rows left out of the cost because one of the two arms lacks them: 1 of “{DOCUMENT}”"
    assert issue.text == f"{name_of('document')}: {left_out}"
    ((about, cells),) = numbers(found, "hierarchy_cost").items()
    assert about[1] == DOCUMENT
    assert {name: cell.rows for name, cell in cells.items()} == {"alone": 2, "under conflict": 2, "cost": 2}


def test_turns_begin_with_the_system_message_alone_and_a_slip_has_a_cost(known: Section, planted: Path) -> None:
    found = numbers(known, "hierarchy_turns")
    followed, slipped = "every earlier reply follows it", "the last earlier reply does not"
    forgetful = {turns: found[name_of("forgets_after_2"), turns] for turns in (1, 2, 12)}
    assert {turns: cells[followed].value for turns, cells in forgetful.items()} == {1: 1.0, 2: 1.0, 12: 0.0}
    assert not forgetful[1][slipped].exists
    # Of one turn there is no second history that could lack rows.
    assert figure(known, "hierarchy_turns").issues == ()
    # Five of 20 rows.
    for turns in (2, 12):
        cells = numbers(section_of(planted), "hierarchy_turns")[name_of("planted"), turns]
        assert values(cells) == {followed: 1.0, slipped: 0.75, "cost of the slip": 0.25}


def test_a_preference_for_one_instruction_of_every_pair_is_visible(known: Section, planted: Path) -> None:
    found = numbers(section_of(planted), "hierarchy_pairs")
    assert len(found) == ROWS / 2
    assert {pair for _, _, pair in found} <= {*PAIRS.values()}
    for cells in found.values():
        assert values(cells) == {
            "first alone": 1.0,
            "second alone": 1.0,
            "first under conflict": 1.0,
            "second under conflict": 0.0,
            "preference": 1.0,
        }
    # One that is never followed in two of four arms, whichever of the two counts.
    of_document = [
        cells for (model, *_), cells in numbers(known, "hierarchy_pairs").items() if model == name_of("document")
    ]
    assert {(cells["second under conflict"].value, cells["preference"].value) for cells in of_document} == {(0.5, 0.0)}


def test_examples_name_both_instructions_and_whom_the_answer_obeys(known: Section, planted: Path) -> None:
    whys = {example.why: example for example in known.examples}
    assert f"Obeys an instruction that was not given to it, but is in what it was to read: {DOCUMENT}." in whys
    assert f"Obeys whom it should, in spite of the rival: {SYSTEM_USER}." in whys
    forgot = next(one for one in known.examples if "but no longer in turn 12" in one.why)
    facts = dict(forgot.facts)
    assert (facts["verdict"], facts["repaired"]) == ("neither", "neither")
    assert facts["counts"] != facts["rival, which nobody stated"]
    assert facts["answer in hierarchy_system"] != forgot.answer


def test_without_samples_and_without_controls_the_other_figures_remain(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(folders["oracle"], tmp_path / "run")
    without_samples(tmp_path / "run")
    assert names(section_of(tmp_path / "run")) == ["hierarchy_arms", "hierarchy_cost", "hierarchy_turns"]


def test_a_model_that_was_not_run_on_every_arm_has_no_cost_but_its_pairs(
    result_folder: ResultFolder, folders: dict[str, Path]
) -> None:
    partly = result_folder("last", (ARMS[5],), limit=4, chat=True)
    assert names(section_of(partly)) == ["hierarchy_arms", "hierarchy_pairs"]
    beside = section_of(partly, folders["oracle"])
    pairs = [cells for (model, *_), cells in numbers(beside, "hierarchy_pairs").items() if model == name_of("last")]
    of_conflicts = {cells["first under conflict"].value for cells in pairs if cells["first under conflict"].exists}
    assert of_conflicts == {0.0}
    assert not any(cells["first alone"].exists for cells in pairs)
