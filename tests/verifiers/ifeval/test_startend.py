"""startend and combination: quotation marks, a last phrase, two responses, the prompt repeated, in both editions."""

from __future__ import annotations

from tests.verifiers.cases import Case, judged

# Instruction id -> cases: arguments, text, faithful, repaired.
CASES: dict[str, list[Case]] = {
    "startend:quotation": [
        ({}, '"hi" he said "bye"', True, False),  # trap: two quotations
        ({}, "“hi”", False, True),  # trap: curly marks
        ({}, '"hi there"', True, True),
        ({}, ' "hi there"\n', True, True),
        ({}, '"one\n\ntwo"', True, True),
        ({}, "hi there", False, False),
        ({}, '"hi there', False, False),
        ({}, 'hi there"', False, False),
        ({}, "'hi there'", False, False),
        ({}, '"hi there".', False, False),
        ({}, "*hi*", False, False),
        # nothing inside
        ({}, '"', False, False),
        ({}, '""', True, False),
        ({}, '" "', True, False),
        ({}, "“”", False, False),
        # the marks of other languages, in pairs
        ({}, "«hi»", False, True),
        ({}, "« hi »", False, True),
        ({}, "「hi」", False, True),
        ({}, "„cześć”", False, True),
        ({}, "„hallo“", False, True),
        ({}, "“hi“", False, False),
        ({}, '“hi"', False, False),
        ({}, '"hi”', False, False),
        # a quotation inside, and one that ends too early
        ({}, '"he said "yes" to me"', True, True),
        ({}, '"She said "yes""', True, True),
        ({}, "“he said “yes” to me”", False, True),
        ({}, "“hi” he said “bye”", False, False),
        ({}, '"one" "two"', True, True),
        ({}, '"one"\n\n"two"', True, True),
        ({}, '"one"\n\ntwo\n\n"three"', True, False),
        ({}, '**"hi there"**', False, True),
        ({}, '**"hi" there**', False, False),
        ({}, "“one” “two”", False, True),
    ],
    "startend:end_checker": [
        ({"end_phrase": "The end."}, "They lived happily. The end.", True, True),
        ({"end_phrase": "The end."}, "THE END.", True, True),
        ({"end_phrase": "The end."}, "The end.\n\n", True, True),
        ({"end_phrase": "The end."}, '"They lived happily. The end."', True, True),
        ({"end_phrase": "The end."}, 'The end.""', True, True),
        ({"end_phrase": " The end. "}, "The end.", True, True),
        ({"end_phrase": "The end."}, "The end. Goodbye.", False, False),
        ({"end_phrase": "The end."}, "The end", False, False),
        ({"end_phrase": "The end."}, "The end.*", False, True),
        ({"end_phrase": "The end."}, "The end.”", False, True),
        ({"end_phrase": "The end."}, "(The end.)", False, True),
        ({"end_phrase": "The end."}, "```\nThe end.\n```", False, True),
        ({"end_phrase": "The end."}, "The\nend.", False, True),
        ({"end_phrase": "The end"}, "The end.", False, True),
        ({"end_phrase": "The end"}, "The ends", False, False),
        ({"end_phrase": "end."}, "my friend.", True, False),
        ({"end_phrase": "end."}, "the - end.", True, True),
        # a phrase that itself ends in a quotation mark: IFEval removes the mark only from the response
        ({"end_phrase": 'I say "bye"'}, 'At last I say "bye"', False, True),
        ({"end_phrase": 'I say "bye"'}, "At last I say bye", False, False),
        # a phrase of only marks
        ({"end_phrase": "***"}, "Bye. ***", True, True),
        ({"end_phrase": "***"}, "Bye.", False, False),
        ({"end_phrase": "}"}, "Bye.", False, False),
        ({"end_phrase": ":)"}, "Bye :)", True, True),
        ({"end_phrase": ":)"}, "Note:", False, False),
    ],
    "combination:two_responses": [
        ({}, "one\n*******\ntwo", True, False),  # trap: seven asterisks
        ({}, "one\n******\ntwo", True, True),
        ({}, "one ****** two", True, True),
        ({}, "one******two", True, True),
        ({}, "one\n*****\ntwo", False, False),
        ({}, "one\n***\n***\ntwo", False, False),
        ({}, "one\n* * * * * *\ntwo", False, False),
        ({}, "one\n************\ntwo", False, False),  # twice six: nothing is in between
        # parts at the ends may be empty, parts in between may not
        ({}, "******\none\n******\ntwo\n******", True, True),
        ({}, "one\n******", False, False),
        ({}, "******\none", False, False),
        ({}, "******", False, False),
        ({}, "one\n******\n\n******\ntwo", False, False),
        ({}, "one\n******\n \n******\ntwo", False, False),
        ({}, "—\n******\ntwo", True, False),  # a response has a letter or digit in it
        # two, and two that differ
        ({}, "one", False, False),
        ({}, "one\n******\ntwo\n******\nthree", False, False),
        ({}, "one\n******\none", False, False),
        ({}, "one\n******\n one \n", False, False),
        ({}, "one\n******\nOne", True, True),
        ({}, "one\n*******\none", True, False),  # the seventh asterisk makes them differ
        ({}, "**one**\n******\n*two*", True, True),
    ],
    "combination:repeat_prompt": [
        ({"prompt_to_repeat": "Write a poem."}, "Write a poem. Roses are red.", True, True),
        ({"prompt_to_repeat": "Write a poem."}, "Write a poem.\n\nRoses are red.", True, True),
        ({"prompt_to_repeat": "Write a poem."}, "write A POEM. Roses are red.", True, True),
        ({"prompt_to_repeat": "Write a poem."}, " \nWrite a poem. Roses are red.", True, True),
        ({"prompt_to_repeat": "Write a poem."}, "Write a poem.", True, True),
        ({"prompt_to_repeat": " Write a poem.\n"}, "Write a poem. Roses are red.", True, True),
        ({"prompt_to_repeat": "Write a poem."}, "Sure! Write a poem. Roses are red.", False, False),
        ({"prompt_to_repeat": "Write a poem."}, '"Write a poem." Roses are red.', False, False),
        ({"prompt_to_repeat": "Write a poem."}, "Write a poem", False, False),
        ({"prompt_to_repeat": "Write a poem."}, "Write  a poem. Roses are red.", False, True),
        ({"prompt_to_repeat": "Write a poem."}, "**Write a poem.**\nRoses are red.", False, False),
        ({"prompt_to_repeat": "Say 'so'"}, "Say ‘so’. So.", False, True),
        ({"prompt_to_repeat": "Write a poem"}, "Write a poem: Roses", True, True),
        ({"prompt_to_repeat": "Write a poem"}, "Write a poems: Roses", True, False),
        ({"prompt_to_repeat": "Write a poem."}, "Roses are red. Write a poem.", False, False),
        ({"prompt_to_repeat": "(a+"}, "(a+b)", True, True),  # no regular expression
    ],
}


test_both_editions = judged(CASES)
