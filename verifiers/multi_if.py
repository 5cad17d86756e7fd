"""Words and sentences as Multi-IF's published code counts them (He et al., 2024), by the language of the text.

langdetect names the language. Those of other languages, and of a text without one, are IFEval's.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from types import ModuleType

from lm_eval_ext.verifiers.text import Text

EXTRA = "lm-eval-ext[multi_if]"
"""What installs PyThaiNLP, and what it splits sentences with."""
THAI, HINDI = "th", "hi"
CHINESE_OR_JAPANESE = ("zh-cn", "zh-tw", "ja")
_IGNORED = str.maketrans("", "", "\\.!?．/_,{}<>:;$%^&*(+\"'—！，。？、`~@#￥…（）：；《》“”)[]»〔〕-「」")
"""Marks that are taken out before words are counted; those missing here, such as ・ and |, count as words."""
_SYLLABLE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]")
"""A character of Chinese, Japanese or Korean, which is a word."""
_BETWEEN_ENDS = re.compile("[^.!?。！？．\n]+")
_HINDI_END = re.compile("[।!?]")


def words(text: Text) -> int | None:
    """Return the number of words; ``None`` for that of IFEval.

    Raises:
        MissingThaiError: the text is Thai, and PyThaiNLP is not installed.
    """
    language = text.language
    if language == THAI:
        return len(thai().word_tokenize(text.raw))
    if language not in CHINESE_OR_JAPANESE:
        return None
    import emoji  # noqa: PLC0415 # few texts need it

    # Characters, emojis, and chunks of anything else between them.
    bare = text.raw.translate(_IGNORED)
    others = _SYLLABLE.sub(" ", emoji.replace_emoji(bare, "")).split()
    return len(_SYLLABLE.findall(bare)) + emoji.emoji_count(bare) + len(others)


def sentences(text: Text) -> int | None:
    """Return the number of sentences; ``None`` for that of IFEval.

    Raises:
        MissingThaiError: as ``words``.
    """
    language, lines = text.language, text.raw.splitlines()
    if language == THAI:
        return sum(len(thai().sent_tokenize(line)) for line in lines)
    if language == HINDI:
        # What follows the last end is a sentence, too; so is an end right after another.
        return len(_HINDI_END.findall(text.raw)) + bool(_HINDI_END.split(text.raw)[-1].strip())
    if language in CHINESE_OR_JAPANESE:
        # White space between two ends is a sentence.
        return sum(len(_BETWEEN_ENDS.findall(line.strip())) for line in lines)
    return None


class MissingThaiError(ImportError):
    """What divides Thai texts is not installed; the message names the extra that installs it."""


@cache
def thai() -> ModuleType:
    """Return PyThaiNLP's tokenizers.

    Raises:
        MissingThaiError: PyThaiNLP is not installed, or what it splits sentences with is not.
    """
    if missing := [name for name in ("pythainlp", "pycrfsuite") if find_spec(name) is None]:
        raise MissingThaiError(
            "the edition multi_if divides Thai texts into words and sentences, which needs "
            f"{', '.join(missing)}: pip install '{EXTRA}'"
        )
    from pythainlp import tokenize  # noqa: PLC0415 # takes a while to import, and only Thai texts need it

    return tokenize
