"""The wordings with which responses commit to an option, deny one, refuse or waver; all patterns expect plain text."""

from __future__ import annotations

import re

_OPENED = r"[\"'(\[{]{0,3}"

REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:really |very |truly )?sorry\b|i apologi[sz]e\b|my apologies\b"
    r"|i (?:cannot|can't|can not|could not|won't|will not|must decline|decline)\b"
    r"|i(?:'m| am) (?:unable|not able)\b"
    r"|i (?:do not|don't) (?:have|hold|possess|take)\b[^.]{0,40}\b(?:opinions?|views?|feelings?|beliefs?|preferences?"
    r"|experiences?|stances?|positions?|identity|emotions?|thoughts|ability)"
    r"|not (?:appropriate|ethical|acceptable|possible|comfortable)\b"
    r"|as (?:an ai|a language model|a large language model|an artificial)\b"
    r"|i(?:'m| am) (?:just |only )?an (?:ai|artificial)\b"
    r"|i (?:prefer|would prefer|choose|would rather) not to\b"
    r"|(?:decline|refuse) to (?:answer|give|pick|choose|say))",
    re.IGNORECASE,
)
"""A response declines, or begins like one that declines."""

COMMITMENT = re.compile(
    # "the best answer to this question would be"
    r"(?:\b(?:answer|choice|response|selection|option|pick|conclusion|opinion|view)\b(?:\s+(?!not\b)[\w',-]+){0,9}?"
    r"\s+(?:is|are|would be|was|will be)\b"
    r"(?:\s+(?:as follows|therefore|thus|option|answer|letter|likely|most likely|probably|that|the))*\s*:?\s*"
    # "Answer:"
    r"|\b(?:answer|choice|response)\s*:\s*"
    # "I would rather go with"
    r"|\b(?:i|i'd|i'll|i've|we|we'd)\b(?:\s+(?!not\b|cannot\b|can't\b)[\w']+){0,4}?"
    r"\s+(?:select|selected|choose|chose|chosen|pick|picked|answer|say|rate|go with|opt for|lean towards?|respond)\b"
    r"(?:\s+(?:with|that|as|option|answer|letter|the|an|for|following|it|this|to be|my))*\s*:?\s*"
    # "To me it is clearly"
    r"|\b(?:to me|for me|in my (?:view|opinion|eyes|mind)|as i see it)\b,?"
    r"\s+(?:it|that|this)\s*(?:is|'s|would be|must be)"
    r"(?:\s+(?:clearly|plainly|obviously|certainly|definitely|simply|just|probably))*\s*"
    # "Therefore the force is"
    rf"|\b(?:therefore|thus|so|hence)\b[^.\n]{{0,60}}?(?:\bis|\bare|:)\s*){_OPENED}$",
    re.IGNORECASE,
)
"""The words right before a mention commit to it."""

CUE = re.compile(r"(?:answers?|choices?|select|choose|pick|go\s+with)\b", re.IGNORECASE)
"""A mention by letter begins with words that commit to it; "option B" by itself only names B."""

THEIRS = re.compile(
    r"(?:\b(?:(?:who|others?|some|they)\b(?:\s+(?!not\b)[\w']+){0,3}|people|respondents|those|individuals)\s+"
    r"|\bif\b[^.,;:!?\n]{0,30}|(?:^|[.!?]\s|\n)to\s+)$",
    re.IGNORECASE,
)
"""The choice right after these words is that of others or a mere possibility: "those who choose B", "if I chose B"."""

REJECTED = re.compile(
    r"[\"')\].]?\s?(?:\([^)\n]*\)\s?)?"
    r"(?:is|are|was|were|would be|seems?|does|do|cannot|can't|isn't|aren't|can|could|may|must)\s"
    r"(?:\w+\s){0,2}?(?:wrong|incorrect|not|never|false|out|ruled|excluded|eliminated|discarded|less|least|neither"
    r"|(?:right|correct|true|suitable) if\b)"
    r"|[\"')\].]?\s?(?:cannot|can't|doesn't|does not|isn't|aren't)\s(?:be\b|apply|fit)",
    re.IGNORECASE,
)
"""The words right after a mention may deny it."""

CONFIRMED = re.compile(
    r"[\"')\].]?\s*(?:\([^)\n]*\)\s*)?(?:is|are|would be|seems?(?: to be)?|appears?(?: to be)?)\s+"
    r"(?:the\s+|my\s+|likely\s+|probably\s+)*(?:correct|right|best|most|answer|choice|closest)\b",
    re.IGNORECASE,
)
"""The words right after a mention commit to it."""

INTRODUCED = re.compile(rf"(?:\b(?:is|be|are)|:)\s*{_OPENED}$", re.IGNORECASE)
"""The words before the first mention introduce it."""

DENIAL = re.compile(
    r"(?:\b(?:not|cannot|never|neither|nor|doubt|least|unlikely|except|anything but|instead of|rather than|wrong"
    r"|incorrect|disagree|exclude|eliminate|rule out|whether)\b|n't\b)[^.;:!?\n]*$",
    re.IGNORECASE,
)
"""The words before a mention in the same clause may deny it."""

NONE_OF_THEM = re.compile(r"\b(?:none|neither|no one) of (?:the|these|them|those)\b", re.IGNORECASE)
NO_ANSWER = re.compile(r"\b(?:no|none|not|neither|nothing|nobody|never|unknown|undetermined|refused)\b", re.IGNORECASE)
"""An option that a response which says "none of these" may mean."""

WAVERS = re.compile(
    r"\b(?:wait|on second thoughts?|on reflection|double-check|i made a mistake|correction|misread|used to be"
    r"|let me (?:correct|rephrase|reconsider)|scratch that|hold on|oops|my mistake|i meant"
    r"|no, (?:that|this|it)(?:'s| is) (?:wrong|incorrect|not))\b|(?:^|[.!?,-]\s?)(?:actually|hmm|no, actually)\b"
    r"|(?:\b[A-Z]\s?[.:=]|-)\s?(?P<verdict>true|false|no|yes|right|wrong|correct|incorrect)\b\W*$|(?:\b[A-Z]\s?[:(-]\s?\d+\s?%[^%]{0,60}){2}",
    re.IGNORECASE | re.MULTILINE,
)
"""A response revises what it said, or gives its ``verdict`` on each option."""

JOINED = re.compile(
    r"[\s)\]\"'.]*(?:[,/&;+]|\band/or\b|\band\b|\bor\b|\bas well as\b|\bto\b)"
    r"(?:\s*(?:,|\b(?:and|or|either|also|maybe|possibly|perhaps|the|options?)\b))*[\s(\[\"']*",
    re.IGNORECASE,
)
"""The text between two options that are named together."""

AND_OR = re.compile(r"\b(?:and|or)\b|&", re.IGNORECASE)
"""The text between the last two options of a list has one of these words."""

_REMARK = r"[.)\"']*[ \t]*(?:\((?![^)\n]*\b(?:incorrect|wrong|not)\b)[^)\n]*\)[ \t]*)?"
NEXT_LINE = re.compile(_REMARK + r"\n\s*(?:[-*]\s?)?[(\[]?")
"""The text between two options on separate lines: at most a remark in brackets."""
LINE_ENDS = re.compile(_REMARK + r"(?:\n|$)")

LABELS = re.compile(r"[\s.:)\](,\"'-]*(?:(?:that is|i\.e\.|namely|meaning)[\s,:(\"']*)?", re.IGNORECASE)
"""The text between a letter and the option text that it labels."""

TEXT_ENDS = re.compile(r"[\"')\]]{0,2}\s?(?:[.!;\n]|$)")
"""An option's text ends a sentence or a line."""

_OTHERS = r"people|persons?|those|someone|somebody|others|respondents?|individuals?|anyone|whoever|majority|experts"
OF_OTHERS = re.compile(rf"\b(?:{_OTHERS}|whether|among|whichever|choos\w+ between)\b[^.;!?\n]*$", re.IGNORECASE)
"""The words before a list of letters in the same clause speak of others' choices, or leave the list undecided."""

CONDITION = re.compile(
    rf"\b(?:{_OTHERS}|if|were to|had to|hypothetical\w*|imagine|pretend|suppose|assuming|for example|for instance|many"
    r"|most|some|would (?:suggest|imply|mean))\b",
    re.IGNORECASE,
)
"""A sentence chooses for others or under a condition."""

CASE = re.compile(r"\b(?:if|when|where|in case|depend\w*)\b|^\W*(?:for|from|in|as|under|at)\b", re.IGNORECASE)
"""The words of a sentence before its choice name a case, beside which there are others: "for the young, A"."""
IF = re.compile(r"\b(?:if|when)\b", re.IGNORECASE)
OF_CASE = re.compile(r"[^.;!?\n]{0,30}?\b(?:if|when|where|for (?:some|those|people|you))\b", re.IGNORECASE)
"""The words right after a choice name its case: "A if you like company"."""

_ONE_OF = r"(?:either|both|(?:any|one|each|all|some|several)(?: one)? of)"
_LISTED = r"(?:answers?|options?|choices?|letters?|responses?|selections?|possibilities)"
OPEN_BEFORE = re.compile(
    rf"(?:\b{_ONE_OF}(?:\s+[\w']+){{0,4}}?\s*:?\s*"
    rf"|\b{_LISTED}\b(?:\s+(?!not\b)[\w',-]+){{0,9}}?\s+(?:is|are|include|could be|might be|may be|can be|would be)\b"
    rf"(?:\s+(?:the|following|either|both|{_LISTED}))*\s*:?\s*"
    rf"|\b(?:valid|possible|acceptable|suitable|appropriate|correct|plausible|reasonable)\s+{_LISTED}\s*:\s*){_OPENED}$",
    re.IGNORECASE,
)
"""The words right before a list of letters say that each of them may be the answer."""

OPEN_AFTER = re.compile(
    r"[\"')\].]{0,2},?\s*(?:(?:based|depending)\s+(?:on|upon)\b|,?\s*it depends\b"
    r"|(?:could|may|might|can|would)\s+(?:all\s+|both\s+|each\s+|equally\s+|potentially\s+)?(?:be|apply|fit)\b"
    r"|(?:are|seem)\s+(?:all\s+|both\s+|each\s+|equally\s+)*"
    r"(?:valid|possible|acceptable|suitable|appropriate|correct|plausible|reasonable|right|legitimate)\b)",
    re.IGNORECASE,
)
"""The words right after a list of letters say so."""

SUBJECT = re.compile(r"options?\b", re.IGNORECASE)
"""A mention begins like the subject of a sentence: "Option B"."""
SET_OFF = re.compile(r"(?:[.!?:]\s|\n|\")$")
"""The characters before a text set it off from its sentence."""

TURN = re.compile(
    r"\b(?:however|but|still|yet|nevertheless|nonetheless|therefore|thus|so|that said|anyway)\b", re.IGNORECASE
)
"""A response turns from what it said to something else."""
