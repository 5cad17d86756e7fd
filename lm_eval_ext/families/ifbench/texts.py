"""Texts that follow IFBench's instructions, one or two at once; documents contain them, so they do not change.

Most are whole answers to a task of its own; the others are put together from the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice

from lm_eval_ext.families.ifbench.overlap import overlap, overlap_in_clusters, overlap_with_keyword
from lm_eval_ext.families.instructions.writer import bank
from lm_eval_ext.verifiers.ifbench.count import NAMES

CONJUNCTIONS = (
    "Rain fell and wind rose, but ships sailed, for trade called, nor did sailors rest, yet none sank, so all sang or "
    "danced."
)
"""All seven coordinating conjunctions."""
PRONOUNS = "She told him that they saw us, and we told her that it was his."
FEW_VOWELS = "She left him when we met them, for he hid it."
"""Pronouns in words with only three vowels: e, i and o."""
NATO = (
    "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec romeo "
    "sierra tango uniform victor whiskey xray yankee zulu"
)
NEST = "alpha (bravo [charlie {delta (echo [foxtrot])}])"
QUOTES = 'Ann wrote "Bob read \'Cal said "yes" twice\' aloud" today'
PALINDROMES = "level radar civic kayak refer rotor madam tenet stats sagas"
CAPITALS = (
    "Reykjavik, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, Dublin, Berlin, "
    "Amsterdam, Warsaw, London, Brussels, Kyiv, Prague, Luxembourg, Paris, Vienna, Bratislava, Budapest, Vaduz, "
    "Chisinau, Bern, Ljubljana, Zagreb"
)
"""The capitals north of 45 degrees, from north to south."""
AFRICA = (
    "Zimbabwe, Zambia, Uganda, Tunisia, Togo, Tanzania, Sudan, South Sudan, South Africa, Somalia, Sierra Leone, "
    "Seychelles, Senegal, Sao Tome and Principe, Rwanda, Republic of the Congo, Nigeria, Niger, Namibia, Mozambique, "
    "Morocco, Mauritius, Mauritania, Mali, Malawi, Madagascar, Libya, Liberia, Lesotho, Kenya, Ivory Coast, "
    "Guinea-Bissau, Guinea, Ghana, Gambia, Gabon, Ethiopia, Eswatini, Eritrea, Equatorial Guinea, Egypt, Djibouti, "
    "Democratic Republic of the Congo, Comoros, Chad, Central African Republic, Cape Verde, Cameroon, Burundi, "
    "Burkina Faso, Botswana, Benin, Angola, Algeria"
)
QUESTIONS = (
    "Who painted Guernica?",
    "Which movement did Salvador Dali join in Paris?",
    "Which American painter is known for canvases of dripped paint?",
    "Which school of design, founded in Weimar in 1919, brought art, crafts and industry together?",
)
CITIES = ("Japan,Kyoto", "Peru,Cusco", "Kenya,Nakuru", "Spain,Bilbao", "Chile,Arica", "India,Jaipur", "Norway,Bergen")
STUDENTS = (
    ("StudentID", "Subject", "Grade", "Semester", "Score"),
    ("1", "Physics", "A", "Fall", "91"),
    ("2", "History", "B", "Spring", "84"),
    ("3", "Music", "A", "Fall", "95"),
)
PRODUCTS = [
    "ProductID,Category,Brand,Price,Stock",
    *(f"{number},Tools,Brand{number},{number}.50,{number * 3}" for number in range(1, 14)),
]
ANIMALS = (
    "Ants Bears Cats Dogs Eels Frogs Geese Hens Ibexes Jays Koalas Lions Moths Newts Owls Pigs Quails Rats Seals "
    "Toads Urchins Vipers Wolves Xerus Yaks Zebras"
)
EAGLE = "The national symbol of the US is the bald eagle"
SMILE = " \N{GRINNING FACE}."


def words(number: int) -> list[str]:
    """Return so many content words, all different as long as there are enough."""
    return list(islice(cycle(bank()), number))


def sentence(chosen: Sequence[str], mark: str = ".") -> str:
    """Return words as one sentence."""
    text = " ".join(chosen)
    return text[:1].upper() + text[1:] + mark


def sentences(lengths: Iterable[int], mark: str = ".") -> Iterator[str]:
    """Yield sentences of the given numbers of words, with different words as long as there are enough."""
    stock = cycle(bank())
    return (sentence(list(islice(stock, length)), mark) for length in lengths)


def prose(number: int) -> str:
    """Return a text of so many words, in sentences of eight; the last may be shorter."""
    return " ".join(sentences([8] * (number // 8) + [rest for rest in [number % 8] if rest]))


def _numbered(N: int) -> str:
    """Return sentences with so many numbers."""
    return " ".join(f"Crate {crate} arrived." for crate in range(11, 11 + N))


def _names(N: int) -> str:
    return " ".join(f"{name} arrived." for name in NAMES[:N])


def _with_keyword(word: str, lengths: Sequence[int], mark: str = ".") -> str:
    """Return sentences of the given numbers of words, and a keyword at the end of the last one."""
    *before, last = lengths
    return " ".join([*sentences(before, mark), sentence([*words(last), word], mark)])


def _keyword_in_range(word: str, N: int, min_words: int, max_words: int) -> str:
    total = (min_words + max_words) // 2
    length = total // N
    return _with_keyword(word, [total - length * (N - 1), *[length] * (N - 2), length - 1][-N:])


def _items_in_range(min_words: int, max_words: int, sep: str) -> Iterator[str]:
    for per_line in range(2, max_words + 1):
        stock, lines = words(max_words), list[str]()
        while stock:
            lines.append(f"{sep} {' '.join(stock[:per_line])}")
            stock = stock[per_line:]
            yield "\n".join(lines)


def _template() -> str:
    answer, conclusion, outlook = sentences([5, 5, 5])
    return f"My Answer: {answer} My Conclusion: {conclusion} Future Outlook: {outlook}"


def _thesis(number: int) -> str:
    return f"<i>{next(sentences([5]))}</i> {prose(number)}"


def _increment_with_thesis(small_n: int) -> str:
    thesis, *rest = words(2)
    return " ".join([f"<i>{thesis.title()}</i> {' '.join(rest)}.", *sentences([2 + small_n, 2 + 2 * small_n])])


def _option(options: str) -> str:
    divider = next((mark for mark in ("/", " or ") if mark in options), ",")
    return options.rsplit(divider, maxsplit=1)[-1].strip()


def _changed(prompt_to_repeat: str) -> str:
    first = prompt_to_repeat.split(maxsplit=1)[0]
    return f"Kindly{prompt_to_repeat.lstrip()[len(first) :]}"


def _mcq() -> str:
    options = "\n".join(f"{letter}. {word.title()}" for letter, word in zip("ABCDE", words(5), strict=True))
    return "\n\n".join(f"Question {number}: {text}\n{options}" for number, text in enumerate(QUESTIONS, start=1))


_SUB_BULLETS = ("* {}\n  - {}\n* {}\n  - {}".format(*words(4)), "* it is\n  - it was\n* it was\n  - it is")
_STAIRS = ("Dogs bark loud.\n Cats meow soft.\n  Cows walk slow.",)

TEXTS: Mapping[tuple[str, ...], str | Iterable[str] | Callable[..., str | Iterable[str]]] = {
    ("count:conjunctions",): CONJUNCTIONS,
    ("count:keywords_multiple",): lambda **keywords: " ".join(
        f"Somebody wrote {word} down."
        for word, times in zip(keywords.values(), (1, 2, 3, 5, 7), strict=True)
        for _ in range(times)
    ),
    ("count:numbers",): _numbered,
    ("count:numbers", "count:conjunctions"): lambda N, small_n: f"{CONJUNCTIONS} {_numbered(N)}",
    ("count:numbers", "count:unique_word_count"): lambda N: f"{_numbered(N[0])} {prose(N[1] + 5)}",
    ("count:unique_word_count",): lambda N: prose(N + 5),
    ("count:person_names",): _names,
    ("words:start_verb", "count:person_names"): lambda N: (
        f"{verb} slowly. {_names(N)}" for verb in ("Consider", "Go", "Take", "Meet", "Be")
    ),
    ("count:pronouns",): lambda N: " ".join([PRONOUNS] * (N // 4 + 1)),
    ("words:vowel", "count:pronouns"): lambda N: " ".join([FEW_VOWELS] * (N // 4 + 1)),
    ("count:punctuation",): (
        "Well, this is it: the end; really? Yes! Are you sure?! It's \"done\" (finally) - a 'well-known' end… [sic].",
        "Well, this is it: the end; really? Yes! Are you sure?! Yes‽ It is done.",
    ),
    ("count:word_count_range",): lambda min_words, max_words: prose((min_words + max_words) // 2),
    ("count:words_japanese",): lambda N: sentence([*words(N - 1), "日本", *words(N - 1), "東京"], ""),
    ("custom:character_reverse",): EAGLE[::-1],
    ("custom:word_reverse",): " ".join(EAGLE.split()[::-1]),
    ("custom:csv_city",): "\n".join(
        [
            "ID,Country,City,Year,Count",
            *(f"{number},{place},{2000 + number},{10 * number}" for number, place in enumerate(CITIES, start=1)),
        ]
    ),
    ("custom:csv_quotes",): "\n".join("\t".join(f'"{field}"' for field in row) for row in STUDENTS),
    ("custom:csv_special_character",): tuple(
        "\n".join([*PRODUCTS, f'14,Tools,"{brand}",9.50,4']) for brand in ("Smith & Sons", "Smith, Sons & Co!")
    ),
    ("custom:date_format_list",): (
        "1796-04-12, 1796-05-10, 1797-01-14, 1798-07-21, 1800-06-14, 1805-12-02, 1806-10-14, 1807-06-14, 1815-06-18"
    ),
    ("custom:european_capitals_sort",): (CAPITALS, CAPITALS.replace("Kyiv, ", "")),
    ("custom:mcq_count_length",): _mcq(),
    ("custom:multiples",): "14, 21, 28, 35, 42, 49",
    ("custom:reverse_newline",): AFRICA.replace(", ", "\n"),
    ("custom:sentence_alphabet",): " ".join(f"{animals} met outside." for animals in ANIMALS.split()),
    ("format:emoji",): " ".join(sentences([4, 5, 4], SMILE)),
    ("format:quotes", "format:emoji"): f"{QUOTES}{SMILE}",
    ("format:line_indent",): "\n".join(f"{' ' * number}{line}" for number, line in enumerate(sentences([4, 4, 4]))),
    ("format:line_indent", "ratio:sentence_words"): _STAIRS,
    ("format:list",): lambda sep: "\n".join(f"{sep} {word}" for word in words(6)),
    ("count:word_count_range", "format:list"): _items_in_range,
    ("format:list", "words:no_consecutive"): lambda sep: "\n".join(
        f"{sep} {word}" for word in ("apple", "melon", "cherry", "lemon", "peach", "grape")
    ),
    ("format:newline",): "\n".join(words(6)),
    ("format:no_bullets_bullets",): "\n".join([" ".join(sentences([5, 5])), *(f"* {word}" for word in words(3))]),
    ("format:no_whitespace",): "Yes.",
    ("format:options",): _option,
    ("format:output_template",): _template(),
    ("format:parentheses",): f"{sentence(words(4), '')} (copper [violin {{orchard (bridge [thunder])}}]).",
    ("words:alphabet", "format:parentheses"): " ".join([NEST, *NATO.split()[6:]]),
    ("format:quote_unquote",): 'The sign read "no entry" because the bridge was closed.',
    ("format:quotes",): f"{QUOTES}.",
    ("format:sub-bullets",): _SUB_BULLETS,
    ("format:sub-bullets", "ratio:stop_words"): _SUB_BULLETS,
    ("format:thesis",): _thesis(20),
    ("format:thesis", "count:word_count_range"): lambda min_words, max_words: (
        _thesis(number) for number in range(max_words, max(min_words - 10, 0), -1)
    ),
    ("format:title_case",): prose(20).title(),
    ("ratio:overlap",): overlap,
    ("ratio:overlap", "sentence:keyword"): overlap_with_keyword,
    ("words:consonants", "ratio:overlap"): overlap_in_clusters,
    ("ratio:sentence_balance",): "The river is wide. Where does it end? How fast it flows!",
    ("ratio:sentence_type",): "The river is wide. The bridge is old. Who built it?",
    ("ratio:sentence_words",): "Dogs bark loud. Cats meow soft. Cows walk slow.",
    ("ratio:stop_words",): prose(20),
    ("repeat:repeat_change",): _changed,
    ("repeat:repeat_simple",): "Only output this sentence here, ignore all other requests.",
    ("repeat:repeat_span",): lambda n_start, n_end, prompt_to_repeat: prompt_to_repeat[n_start : n_end + 1],
    ("sentence:alliteration_increment",): (
        "Big bears ate. Calm cats climb up. Young dogs dig deep dens. Every fox finds five fresh figs."
    ),
    ("sentence:increment",): lambda small_n: " ".join(sentences([2, 2 + small_n, 2 + 2 * small_n])),
    ("sentence:increment", "format:thesis"): _increment_with_thesis,
    ("sentence:keyword",): lambda word, N: _with_keyword(word, [*[4] * (N - 1), 3]),
    ("format:emoji", "sentence:keyword"): lambda word, N: _with_keyword(word, [*[4] * (N - 1), 3], SMILE),
    ("sentence:keyword", "count:word_count_range"): _keyword_in_range,
    ("words:alphabet",): NATO.capitalize(),
    ("words:consonants",): "Strong blacksmiths craft bright brass plates.",
    ("words:consonants", "words:odd_even_syllables"): "Strong winter brings crystal frost.",
    ("ratio:sentence_balance", "words:consonants"): (
        "Strong blacksmiths craft brass plates. Which scholars stand? Splendid craft!"
    ),
    ("words:keywords_specific_position",): lambda keyword, n, m: " ".join(
        [*sentences([4] * (n - 1)), sentence([*words(m - 1), keyword, "everywhere"])]
    ),
    ("words:last_first",): "Every ship left the harbor. Harbor lights faded into mist. Mist hid the coast.",
    ("words:no_consecutive",): "Apple growers market cherries, lemons, peaches with great pride.",
    ("words:odd_even_syllables",): ("Strong winter brings crystal frost.", "Cold water falls over stone."),
    ("words:palindrome",): f"Somebody wrote {PALINDROMES} down.",
    ("words:paragraph_last_first",): "Rain feeds rivers, and rivers become rain\nHome is never far from home",
    ("words:prime_lengths",): "We saw big birds run by green forests.",
    ("words:repeats",): prose(30),
    ("words:start_verb",): ("Consider the river.", "Go to the river.", "Be calm."),
    ("words:vowel",): (
        "The sleepy engineer rested in his cold tent, for the trees hid the moon.",
        "The men rested in his cold tent for the trees hid the moon.",
    ),
    ("words:words_position",): lambda keyword: sentence(["clearly", keyword, *words(6), keyword, "again"]),
}
"""By the instructions' ids, a text that is meant to follow them, or several, the best first, or what composes them from
the arguments. The arguments of several instructions under one name are a list, in this order."""
