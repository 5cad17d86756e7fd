"""Which label word a response answers with: hits next to near misses."""

from __future__ import annotations

import pytest

from lm_eval_ext.families.verbalizer.answer import VerbalizerAnswer, read_answer
from lm_eval_ext.families.verbalizer.mentions import plain_label
from lm_eval_ext.families.verbalizer.prompt import Reads
from lm_eval_ext.families.verbalizer.verbalizer import marker

SENTIMENT = ("positive", "negative")
ENTAILS = ("entailment", "not entailment")
NLI = ("entailment", "contradiction")
DUPLICATE = ("duplicate", "not duplicate")
EQUIVALENT = ("equivalent", "not equivalent")
SUBJECTIVITY = ("subjective", "objective")
JOY = ("joy", "sadness")
DIGITS = ("1", "0")
YES_NO = ("yes", "no")
FOO_BAR = ("foo", "bar")
SFO_LAX = ("sfo", "lax")
THREE = ("sports", "business", "science")

# response, labels, the label it answers with under direct prompting
DIRECT = [
    # the word, and what may surround it
    ("positive", SENTIMENT, "positive"),
    ("Positive", SENTIMENT, "positive"),
    ("NEGATIVE", SENTIMENT, "negative"),
    (" negative\n", SENTIMENT, "negative"),
    ("negative.", SENTIMENT, "negative"),
    ("negative!", SENTIMENT, "negative"),
    ('"negative"', SENTIMENT, "negative"),
    ('"negative."', SENTIMENT, "negative"),
    ("“negative”", SENTIMENT, "negative"),
    ("'negative'", SENTIMENT, "negative"),
    ("‘negative’.", SENTIMENT, "negative"),
    ("**negative**", SENTIMENT, "negative"),
    ("*negative*", SENTIMENT, "negative"),
    ("__negative__", SENTIMENT, "negative"),
    ("`negative`", SENTIMENT, "negative"),
    ("```\nnegative\n```", SENTIMENT, "negative"),
    ("### Negative", SENTIMENT, "negative"),
    ("- negative", SENTIMENT, "negative"),
    ("(negative)", SENTIMENT, "negative"),
    ("{negative}", SENTIMENT, "negative"),
    (r"\boxed{negative}", SENTIMENT, "negative"),
    ("<b>negative</b>", SENTIMENT, "negative"),
    ("Answer: negative", SENTIMENT, "negative"),
    ("**Answer:** negative", SENTIMENT, "negative"),
    ("Sure! The output is: negative", SENTIMENT, "negative"),
    ("SFO", SFO_LAX, "sfo"),
    # the longer label wins
    ("not entailment", ENTAILS, "not entailment"),
    ("Answer: not entailment.", ENTAILS, "not entailment"),
    ("Not  Entailment", ENTAILS, "not entailment"),
    ("not_entailment", ENTAILS, "not entailment"),
    ("not-entailment", ENTAILS, "not entailment"),
    ("**not** entailment", ENTAILS, "not entailment"),
    ("entailment", ENTAILS, "entailment"),
    ("Not a duplicate.", DUPLICATE, "not duplicate"),
    ("non-duplicate", DUPLICATE, None),
    ("foo bar", ("foo", "foo bar"), "foo bar"),
    ("foo", ("foo", "foo bar"), "foo"),
    # only whole words
    ("1", DIGITS, "1"),
    ("1.", DIGITS, "1"),
    ("1\n", DIGITS, "1"),
    ("(0)", DIGITS, "0"),
    ("10", DIGITS, None),
    ("01", DIGITS, None),
    ("1.5", DIGITS, None),
    ("0,5", DIGITS, None),
    ("1/2", DIGITS, None),
    ("-1", DIGITS, None),
    ("100%", DIGITS, None),
    ("1st", DIGITS, None),
    ("no", YES_NO, "no"),
    ("No.", YES_NO, "no"),
    ("No, they differ.", YES_NO, "no"),
    ("No because they differ.", YES_NO, "no"),
    ("I know.", YES_NO, None),
    ("Nothing", YES_NO, None),
    ("yesterday", YES_NO, None),
    ("no-one", YES_NO, None),
    ("There is no evidence for that.", YES_NO, None),
    ("I have no idea.", YES_NO, None),
    ("positively", SENTIMENT, None),
    ("non-negative", SENTIMENT, None),
    ("food", FOO_BAR, None),
    ("The bar's open.", FOO_BAR, None),
    # the first label named
    ("foo\n\nbar", FOO_BAR, "foo"),
    ("foo. The other kind would be bar.", FOO_BAR, "foo"),
    ("foo, not bar", FOO_BAR, "foo"),
    ("not bar but foo", FOO_BAR, "foo"),
    ("The review is not positive; it is negative.", SENTIMENT, "negative"),
    ("It isn't positive.", SENTIMENT, None),
    ('Rather than "foo", I say "bar".', FOO_BAR, "bar"),
    ("not only positive, but glowing", SENTIMENT, "positive"),
    # denied from a distance
    ("The review does not express a positive sentiment. So the output is negative", SENTIMENT, "negative"),
    ("The review is not very positive, so negative.", SENTIMENT, "negative"),
    ("There is no contradiction. Output: entailment", NLI, "entailment"),
    ("There is no doubt: positive", SENTIMENT, "positive"),
    ("The plot is not good but positive on the whole", SENTIMENT, "positive"),
    ("I cannot output foo", FOO_BAR, None),
    ("They are not semantically equivalent.", EQUIVALENT, "not equivalent"),
    ("They aren't equivalent.", EQUIVALENT, "not equivalent"),
    ("There is no entailment.", ENTAILS, "not entailment"),
    ("No, entailment", ENTAILS, "entailment"),
    # both in one breath
    ("positive or negative", SENTIMENT, None),
    ("positive/negative", SENTIMENT, None),
    ("positive, negative", SENTIMENT, None),
    ("both foo and bar", FOO_BAR, None),
    ("It is positive and it is also negative.", SENTIMENT, None),
    ('"positive" or "negative"', SENTIMENT, None),
    ("1 or 0", DIGITS, None),
    ("positive, positive", SENTIMENT, "positive"),
    ("sports, business or science", THREE, None),
    ("science", THREE, "science"),
    # neither
    ("", SENTIMENT, None),
    ("   \n", SENTIMENT, None),
    ("neutral", SENTIMENT, None),
    ("I'm sorry, but I cannot judge that.", SENTIMENT, None),
    ("I cannot tell whether the review is positive or negative.", SENTIMENT, None),
    ("As an AI model I do not know which word applies.", YES_NO, None),
    # digits that number something
    ("Sentence 1 contradicts sentence 2, so the output is 0.", DIGITS, "0"),
    ("Question 1 asks something else: 0", DIGITS, "0"),
    ("1. The plot is dull.\n2. The answer is 0.", DIGITS, "0"),
    ("1. The plot is dull.", DIGITS, "1"),
    # conditions repeat the instruction
    ('If the review is positive, I need to output "negative".', SENTIMENT, None),
    ('If the review is positive, I need to output "negative". Negative', SENTIMENT, "negative"),
    ('I need to output "foo" for joy and "bar" for sadness.', FOO_BAR, None),
    ('Output "foo" if it is joy and "bar" if it is sadness. foo', FOO_BAR, "foo"),
    ('You are only allowed to output "negative" or "positive".\n\nAnswer: negative', SENTIMENT, "negative"),
    ('If it were joy, the answer would be "foo".', FOO_BAR, None),
    # alternatives that are denied together, or that cannot be answered
    ('No, you cannot output "foo" or "bar" because the review is long.', FOO_BAR, None),
    ('No, you cannot output "entailment" or "contradiction" because sentence 1 entails sentence 2.', NLI, None),
    ("No, you cannot answer a question about a sentence that contains a contradiction.", NLI, None),
    ('No, you cannot output "equivalent" because they are not equivalent.', EQUIVALENT, "not equivalent"),
    ('I cannot output "foo", so I output "bar".', FOO_BAR, "bar"),
    ('I cannot say anything but "foo".', FOO_BAR, "foo"),
    ("I cannot say much about it, it's negative.", SENTIMENT, "negative"),
    ("You can't output sports, business or science.", THREE, None),
    ("The review is not positive or negative.", SENTIMENT, None),
    ("It is neither positive nor negative.", SENTIMENT, None),
    ("It is not positive; negative", SENTIMENT, "negative"),
    ("It is not sports, or so. Business.", THREE, "business"),
    ("It is not about sports or science. Business.", THREE, "business"),
    ('"foo" is not a word that I know.', FOO_BAR, None),
    ('"foo" isn\'t right: "bar"', FOO_BAR, "bar"),
    ('"foo" is right', FOO_BAR, "foo"),
    # a yes or no that contradicts the label after it, where one label denies the other
    ("No, the two sentences are semantically equivalent.", EQUIVALENT, None),
    ("No. The two sentences are semantically equivalent.", EQUIVALENT, None),
    ("Yes, the two sentences are not semantically equivalent.", EQUIVALENT, None),
    ("Yes, the two sentences are semantically equivalent.", EQUIVALENT, "equivalent"),
    ("No, the two sentences are not semantically equivalent.", EQUIVALENT, "not equivalent"),
    ("No, not equivalent. Sentence 1 is longer.", EQUIVALENT, "not equivalent"),
    ('No, so the output is "equivalent".', EQUIVALENT, "equivalent"),
    ("No, the two sentences are semantically equivalent.", YES_NO, "no"),
    ("No, the review is negative.", SENTIMENT, "negative"),
    # an adjective of something else
    ("The film has many positive qualities.", SENTIMENT, None),
    ("It had a negative impact on profits. Positive", SENTIMENT, "positive"),
    ("This is a positive review.", SENTIMENT, "positive"),
    ("It expresses a negative sentiment.", SENTIMENT, "negative"),
    # reasoning blocks
    ("<think>It is positive.</think>negative", SENTIMENT, "negative"),
    ("<think>\nIt is positive.\n</think>\n\n**negative**", SENTIMENT, "negative"),
    ("It is positive.</think>negative", SENTIMENT, "negative"),
    ("<think>It is positive, so I", SENTIMENT, None),
    ("<think></think>", SENTIMENT, None),
]

# response, labels, the label that its chain of thought concludes with
CHAIN_OF_THOUGHT = [
    ("negative", SENTIMENT, "negative"),
    ('The tone is positive. Therefore the final answer is "negative".', SENTIMENT, "negative"),
    ("The tone is positive.\n\nFinal answer: negative", SENTIMENT, "negative"),
    ("The tone is positive.\n\n**Final Answer:**\n\n**negative**", SENTIMENT, "negative"),
    (r"The tone is positive. $\boxed{\text{negative}}$", SENTIMENT, "negative"),
    ("The tone is positive, so I output negative", SENTIMENT, "negative"),
    ('The final answer is "negative", because the review is positive.', SENTIMENT, "negative"),
    ('The final answer, since the review is positive, is "negative".', SENTIMENT, "negative"),
    ('The answer is "negative". This follows since the movie was called positive.', SENTIMENT, "negative"),
    (
        'If the movie review is positive, I need to output my final answer as "negative". The review praises the '
        'acting, so it is positive. So my final answer is "negative".',
        SENTIMENT,
        "negative",
    ),
    ("At first it seems negative. The praise wins. So, positive.", SENTIMENT, "positive"),
    ('"Positive" reviews call for the answer "negative". This one pans the film.\n\npositive', SENTIMENT, "positive"),
    ("The answer could be foo. On reflection, the answer is bar.", FOO_BAR, "bar"),
    ("foo is tempting. bar", FOO_BAR, "bar"),
    ("The answer is foo or bar.", FOO_BAR, None),
    ("Let's weigh foo against the rest. I cannot conclude anything.", FOO_BAR, "foo"),
    ("I cannot conclude anything.", FOO_BAR, None),
    ("If sentence 1 is true, sentence 2 must be true, so the answer is entailment.", NLI, "entailment"),
    (
        "Sentence 1 says a man runs. Sentence 2 says he sleeps. That is a contradiction. Final answer: entailment.",
        NLI,
        "entailment",
    ),
    ("Sentence 1 does not entail sentence 2. The final answer is not entailment.", ENTAILS, "not entailment"),
    ('This is not an entailment, so the final answer is "entailment".', ENTAILS, "entailment"),
    ("1. Sentence 1 is about dogs.\n2. Sentence 2 is about cats.\n\nFinal answer: 0", DIGITS, "0"),
    ("1. Sentence 1 is about dogs.\n2. Sentence 2 is about cats.", DIGITS, None),
    ("Step 1: read. Step 2: compare. The answer is 10.", DIGITS, None),
    ("There is no doubt that they match. The final answer is yes.", YES_NO, "yes"),
    ("They match, no doubt about it.", YES_NO, None),
    ('Final answer: "negative"\n\nThis is the output because the review is positive.', SENTIMENT, "negative"),
    ("Therefore the final answer: joy\n\n(This label is the opposite of the emotion, sadness.)", JOY, "joy"),
    ("I need to output 1 for joy and 0 for sadness. The message expresses sadness, so 0.", DIGITS, "0"),
    ('The label "positive" does not fit, so I choose "negative".', SENTIMENT, "negative"),
    ('According to the rule (if it is joy, output "foo"), the final answer is "foo".', FOO_BAR, "foo"),
    ("The instruction says \"if it is joy, output 'foo'\", and it is joy, so I output foo.", FOO_BAR, "foo"),
    ('If it is joy, I would output "foo", but it is not, so the final answer is "bar".', FOO_BAR, "bar"),
    ('Thus, the answer is "foo". If it were sad, the answer would be "bar".', FOO_BAR, "foo"),
    ("The description is objective and does not contain any subjective opinion.", SUBJECTIVITY, "objective"),
    ("The message is full of joy. There is no sign of sadness.", JOY, "joy"),
    ("<think>final answer: foo</think>The final answer is bar.", FOO_BAR, "bar"),
    ("<think>The final answer is foo.", FOO_BAR, None),
    ("", FOO_BAR, None),
]


@pytest.mark.parametrize(("response", "labels", "expected"), DIRECT)
def test_direct_prompting_reads_the_first_label_named(
    response: str, labels: tuple[str, ...], expected: str | None
) -> None:
    assert read_answer(response, labels, "first") == expected


@pytest.mark.parametrize(("response", "labels", "expected"), CHAIN_OF_THOUGHT)
def test_a_chain_of_thought_answers_with_its_last_statement(
    response: str, labels: tuple[str, ...], expected: str | None
) -> None:
    assert read_answer(response, labels, "final") == expected


def test_the_filter_reads_a_label_or_a_prior_word_or_marks_the_response_invalid() -> None:
    answers = VerbalizerAnswer(labels=FOO_BAR, prior=SENTIMENT).apply(
        [["foo"], ["positive"], ["neither"], ["positive, so foo"], [None]],  # the last one is withheld by an API
        [{}] * 5,
    )
    assert answers == [["foo"], ["positive"], [marker("other")], ["foo"], [marker("empty")]]


ANOTHER_ROW = 'It is praise. The final answer is "foo".\n\nMovie review: dull\n\nAnswer: The final answer is "bar".'
ROW_FIRST = 'Let us see.\nMovie review: lovely\n\nThe final answer is "bar".'


@pytest.mark.parametrize(
    ("response", "row_starts", "expected"),
    [
        (ANOTHER_ROW, ["Movie review:"], "foo"),
        (ANOTHER_ROW, ["Twitter message:"], "bar"),
        (ANOTHER_ROW.replace("Movie review:", "You are an assistant."), ["You are an", "Movie review:"], "foo"),
        (ROW_FIRST, ["Movie review:"], "bar"),
    ],
    ids=["it makes up a row", "of another prompt", "with the whole prompt", "its own row, before any answer"],
)
def test_a_stated_answer_ends_where_another_row_begins(response: str, row_starts: list[str], expected: str) -> None:
    assert read_answer(response, FOO_BAR, "final", row_starts) == expected


def test_a_cue_applies_only_to_its_own_sentence() -> None:
    response = "The answer is hard to find. Some words are positive. The rest is negative."
    assert read_answer(response, ("positive", "negative"), "final") == "negative"


@pytest.mark.parametrize("reads", ["first", "final"])
@pytest.mark.parametrize("labels", [SENTIMENT, ENTAILS, DUPLICATE, DIGITS, YES_NO, SFO_LAX, THREE])
def test_the_order_of_the_labels_does_not_matter(labels: tuple[str, ...], reads: Reads) -> None:
    for label in labels:
        assert read_answer(f'The answer is "{label}".', labels, reads) == label
        assert read_answer(f'The answer is "{label}".', labels[::-1], reads) == label


def test_spelling_variants_of_words_have_one_plain_form() -> None:
    assert plain_label("Not_Entailment ") == plain_label("not entailment")
    assert plain_label("foo") != plain_label("foot")
