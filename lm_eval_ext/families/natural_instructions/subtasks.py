"""The 61 subtasks and their categories (sections 3.1 and 3.3).

Section 3.3 names seven categories but not their members. The published evaluation scripts list six (13, 16, 12, 8, 10
and 2 subtasks), without long text generation. The authors' own table of tasks (``tasks/README.md`` in the repository
allenai/natural-instructions, as of 2021) assigns a category to each of the 61, and all seven have members: long text
generation covers subtasks that ask for more than a sentence, namely a pair of questions with their answers (029, 030)
or a story (059). In the scripts' list, these three are among the ten of minimal text modification; nothing else
differs. None of the three is among the twelve evaluation subtasks, so figures per category on the evaluation split are
the same with either list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Subtask:
    """One of the 61 subtasks.

    Attributes:
        name: the name of its version-1 file, without the suffix.
        category: one of ``CATEGORIES``.
    """

    name: str
    category: str

    @property
    def source_dataset(self) -> str:
        """The dataset whose crowdsourcing instructions it was made from (Table 8): one of ``SOURCE_DATASETS``."""
        number = int(self.name.removeprefix("subtask")[:3])
        return next(dataset for dataset, numbers in SOURCE_DATASETS.items() if number in numbers)

    @property
    def evaluated(self) -> bool:
        """Whether it is one of the twelve subtasks of the evaluation split."""
        return self.name in EVALUATION

    @property
    def version_2(self) -> str:
        """The name of its version-2 file, without the suffix."""
        return _RENAMED.get(self.name, self.name.removeprefix("sub"))


_BY_CATEGORY = {
    "question_generation": (
        "subtask001_quoref_question_generation",
        "subtask003_mctaco_question_generation_event_duration",
        "subtask006_mctaco_question_generation_transient_stationary",
        "subtask009_mctaco_question_generation_event_ordering",
        "subtask012_mctaco_question_generation_absolute_timepoint",
        "subtask015_mctaco_question_generation_frequency",
        "subtask023_cosmosqa_question_generation",
        "subtask026_drop_question_generation",
        "subtask031_winogrande_question_generation_object",
        "subtask032_winogrande_question_generation_person",
        "subtask040_qasc_question_generation",
        "subtask048_multirc_question_generation",
        "subtask060_ropes_question_generation",
    ),
    "answer_generation": (
        "subtask002_quoref_answer_generation",
        "subtask004_mctaco_answer_generation_event_duration",
        "subtask007_mctaco_answer_generation_transient_stationary",
        "subtask010_mctaco_answer_generation_event_ordering",
        "subtask013_mctaco_answer_generation_absolute_timepoint",
        "subtask016_mctaco_answer_generation_frequency",
        "subtask024_cosmosqa_answer_generation",
        "subtask028_drop_answer_generation",
        "subtask033_winogrande_answer_generation",
        "subtask041_qasc_answer_generation",
        "subtask043_essential_terms_answering_incomplete_questions",
        "subtask047_misc_answering_science_questions",
        "subtask051_multirc_correct_answer_single_sentence",
        "subtask054_multirc_write_correct_answer",
        "subtask058_multirc_question_answering",
        "subtask061_ropes_answer_generation",
    ),
    "incorrect_answer_generation": (
        "subtask005_mctaco_wrong_answer_generation_event_duration",
        "subtask008_mctaco_wrong_answer_generation_transient_stationary",
        "subtask011_mctaco_wrong_answer_generation_event_ordering",
        "subtask014_mctaco_wrong_answer_generation_absolute_timepoint",
        "subtask017_mctaco_wrong_answer_generation_frequency",
        "subtask025_cosmosqa_incorrect_answer_generation",
        "subtask042_qasc_incorrect_option_generation",
        "subtask055_multirc_write_incorrect_answer",
    ),
    "classification": (
        "subtask018_mctaco_temporal_reasoning_presence",
        "subtask019_mctaco_temporal_reasoning_category",
        "subtask020_mctaco_span_based_question",
        "subtask021_mctaco_grammatical_logical",
        "subtask022_cosmosqa_passage_inappropriate_binary",
        "subtask027_drop_answer_type_generation",
        "subtask046_miscellaenous_question_typing",
        "subtask049_multirc_questions_needed_to_answer",
        "subtask050_multirc_answerability",
        "subtask052_multirc_identify_bad_question",
        "subtask056_multirc_classify_correct_answer",
        "subtask057_multirc_classify_incorrect_answer",
    ),
    "minimal_text_modification": (
        "subtask034_winogrande_question_modification_object",
        "subtask035_winogrande_question_modification_person",
        "subtask036_qasc_topic_word_to_generate_related_fact",
        "subtask037_qasc_generate_related_fact",
        "subtask038_qasc_combined_fact",
        "subtask045_miscellaneous_sentence_paraphrasing",
        "subtask053_multirc_correct_bad_question",
    ),
    "long_text_generation": (
        "subtask029_winogrande_full_object",
        "subtask030_winogrande_full_person",
        "subtask059_ropes_story_generation",
    ),
    "verification": (
        "subtask039_qasc_find_overlapping_words",
        "subtask044_essential_terms_identifying_essential_words",
    ),
}

EVALUATION = (
    "subtask002_quoref_answer_generation",
    "subtask003_mctaco_question_generation_event_duration",
    "subtask005_mctaco_wrong_answer_generation_event_duration",
    "subtask008_mctaco_wrong_answer_generation_transient_stationary",
    "subtask022_cosmosqa_passage_inappropriate_binary",
    "subtask033_winogrande_answer_generation",
    "subtask034_winogrande_question_modification_object",
    "subtask039_qasc_find_overlapping_words",
    "subtask040_qasc_question_generation",
    "subtask044_essential_terms_identifying_essential_words",
    "subtask045_miscellaneous_sentence_paraphrasing",
    "subtask052_multirc_identify_bad_question",
)
"""The evaluation split (section 4.2): two subtasks of each category except long text generation."""

SOURCE_DATASETS: Mapping[str, range] = MappingProxyType(
    {
        "quoref": range(1, 3),
        "mctaco": range(3, 22),
        "cosmosqa": range(22, 26),
        "drop": range(26, 29),
        "winogrande": range(29, 36),
        "qasc": range(36, 43),
        "essential_terms": range(43, 45),
        "miscellaneous": range(45, 48),
        "multirc": range(48, 59),
        "ropes": range(59, 62),
    }
)
"""Maps the source datasets (section 3.1, Table 8) to the numbers of their subtasks, which are consecutive."""

# Version 2 spells these two names differently.
_RENAMED = {
    "subtask046_miscellaenous_question_typing": "task046_miscellaneous_question_typing",
    "subtask047_misc_answering_science_questions": "task047_miscellaneous_answering_science_questions",
}

CATEGORIES = tuple(_BY_CATEGORY)
SUBTASKS: Mapping[str, Subtask] = MappingProxyType(
    {
        name: Subtask(name, category)
        for name, category in sorted((n, c) for c, names in _BY_CATEGORY.items() for n in names)
    }
)
"""Maps names to subtasks, ordered by number."""
