"""Cases of IFBench's group custom whose texts are long and made from each other; ``ifbench.yaml`` has the others.

``ifbench/test_differences.py`` judges those of the documentation.
"""

from __future__ import annotations

CAPITALS = (
    "Reykjavik, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, Dublin, Berlin, "
    "Amsterdam, Warsaw, London, Brussels, Prague, Luxembourg, Paris, Vienna, Bratislava, Budapest, Vaduz, Chișinău, "
    "Bern, Ljubljana, Zagreb"
)
COUNTRIES = (
    *("Zimbabwe", "Zambia", "Uganda", "Tunisia", "Togo", "Tanzania", "Sudan", "South Sudan", "South Africa", "Somalia"),
    *("Sierra Leone", "Seychelles", "Senegal", "São Tomé and Príncipe", "Rwanda", "Nigeria", "Niger", "Namibia"),
    *("Mozambique", "Morocco", "Mauritius", "Mauritania", "Mali", "Malawi", "Madagascar", "Libya"),
    *("Liberia", "Lesotho"),
    *("Kenya", "Ivory Coast", "Guinea-Bissau", "Guinea", "Ghana", "Gambia", "Gabon", "Ethiopia", "Eswatini", "Eritrea"),
    *("Equatorial Guinea", "Egypt", "Djibouti", "Democratic Republic of the Congo", "Congo", "Comoros", "Chad"),
    *("Central African Republic", "Cape Verde", "Cameroon", "Burundi", "Burkina Faso", "Botswana", "Benin", "Angola"),
    "Algeria",
)
AFRICA = "\n".join(COUNTRIES)
CITIES = "\n".join(["ID,Country,City,Year,Count", *(f"{number},France,Paris,2001,5" for number in range(1, 8))])
PRODUCTS = "\n".join(
    [
        "ProductID,Category,Brand,Price,Stock",
        '1,Toys,"A&B",3.5,7',
        *(f"{number},Toys,Ab,3.5,7" for number in range(2, 15)),
    ]
)
STUDENTS = "\n".join(
    [
        '"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"',
        *(f'"{number}"\t"Art"\t"A"\t"Fall"\t"9"' for number in "123"),
    ]
)
OPTIONS = "\n".join(f"{letter}) Monet" for letter in "ABCDE")
QUESTIONS = "\n\n".join(f"Question {number}: Who {'really ' * number}painted it?\n{OPTIONS}" for number in range(1, 5))
STORY = " ".join(f"{letter}nn went home." for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")

TEXTS: dict[str, list[tuple[str, bool, bool]]] = {
    "custom:mcq_count_length": [
        (QUESTIONS, True, True),
        (QUESTIONS.replace("Question 4", "Question four"), False, True),
        (QUESTIONS.replace("really really painted", "painted"), False, False),
        (QUESTIONS.replace("E) Monet", "E. Monet"), True, True),
        (QUESTIONS.replace("E) Monet", ""), False, False),
        ("Here you are.\n\n" + QUESTIONS, False, False),
        ("**" + QUESTIONS.replace("\nQuestion", "\n**Question").replace(": Who", ":** Who"), False, True),
        (QUESTIONS.replace("Question 1:", "Question:"), False, True),
        (QUESTIONS.replace("A) Monet", 'A) "Monet"'), False, True),
        (QUESTIONS.replace("A) Monet", "A| Monet"), True, False),
        (QUESTIONS.replace("Question 4: Who", "Question 4: As in Question 3, who"), False, True),
        ("Q", False, False),
    ],
    "custom:reverse_newline": [
        (AFRICA, True, True),
        ("\n".join(reversed(COUNTRIES)), False, False),
        (AFRICA.replace("Uganda\n", ""), True, False),
        (AFRICA.replace("Uganda\n", "").replace("Togo\n", "").replace("Mali\n", ""), False, False),
        (AFRICA.replace("Uganda", "Ukraine"), True, False),
        ("Africa's countries:\n\n" + AFRICA, True, True),
        (AFRICA + "\nThat is all.", False, False),
        ("\n".join(f"{number}. {name}" for number, name in enumerate(COUNTRIES, start=1)), False, True),
        (AFRICA.replace("Eswatini", "Eswatini (Swaziland)"), True, True),
        (
            AFRICA.replace(
                "Democratic Republic of the Congo\nCongo", "Congo, Republic of the\nCongo, Democratic Republic of the"
            ),
            True,
            True,
        ),
        (AFRICA.replace("Gambia", "The Gambia"), False, True),
        (AFRICA.replace("Zimbabwe\nZambia", "Zambia\nZimbabwe"), True, False),
        (AFRICA.replace("Ivory Coast\n", "").replace("\nCongo", "\nCôte d’Ivoire\nCongo"), True, True),
        ("\n".join(["Zimbabwe"] * 52), True, False),
    ],
    "custom:sentence_alphabet": [
        (STORY, True, True),
        (STORY.replace("Cnn", "Dnn"), False, False),
        (STORY.removesuffix(" Znn went home."), False, False),
        (STORY + " Ann came back.", False, False),
        (STORY.lower(), True, True),
        (STORY.replace("Bnn", '"Bnn"').replace("Enn", "*Enn*"), False, True),
        (STORY.replace("Enn", "Élodie"), False, True),
    ],
    "custom:european_capitals_sort": [
        (CAPITALS, True, True),
        (CAPITALS + ",\n", True, False),
        (CAPITALS.replace("Oslo, ", ""), False, False),
        (CAPITALS.replace("Helsinki, Oslo", "Oslo, Helsinki"), False, False),
        (CAPITALS + ".", False, True),
        (CAPITALS.replace(", Zagreb", " and Zagreb"), False, False),
        (CAPITALS.replace(" Zagreb", " and Zagreb"), False, True),
        (CAPITALS.replace("Prague", "Kyiv, Prague"), False, True),
        (CAPITALS.replace("Prague", "Prague, Kyiv"), False, False),
        (CAPITALS.replace("Bern,", "Berne,").lower(), False, True),
        (CAPITALS.replace(", ", " 東京, ", 1), True, False),
    ],
    "custom:csv_city": [
        (CITIES, True, True),
        (CITIES + "\n", True, True),
        (CITIES + "\n8,France,Paris,2001,5", False, False),
        (CITIES.replace("ID,", "Id,"), False, False),
        (CITIES.replace("3,France,Paris,2001,5", "3,France,Paris,5"), False, False),
        (CITIES.replace("Paris", '"Paris, France"'), True, True),
        (f"```csv\n{CITIES}\n```", False, True),
        (CITIES.replace(",", ", "), False, True),
        (CITIES + "\n\n", False, True),
        (CITIES.replace(",", ", ").replace("Paris", '"Paris, France"'), False, True),
        (CITIES.replace("Paris", ""), True, False),
        # the published code fails
        (CITIES.replace("Paris", "Pa\rris"), False, False),
    ],
    "custom:csv_special_character": [
        (PRODUCTS, True, True),
        (PRODUCTS.replace("A&B", "AB"), False, False),
        (PRODUCTS.replace('"A&B"', "A&B"), False, False),
        (PRODUCTS + "\n15,Toys,Ab,3.5,7", False, False),
        (PRODUCTS.replace("ProductID", "Product"), False, False),
        (PRODUCTS.replace(",Stock", ', "Stock"'), True, True),
        (PRODUCTS.replace("9,Toys,Ab,3.5,7", "9,Toys"), True, False),
        (PRODUCTS.replace('"A&B"', '""""'), True, False),
        (PRODUCTS.replace("A&B", "A, B"), True, True),
        (f"```\n{PRODUCTS}\n```", False, True),
        (PRODUCTS.replace("A&B", "Ab\n&"), False, True),
    ],
    "custom:csv_quotes": [
        (STUDENTS, True, True),
        (STUDENTS.replace('"A"', "A"), False, False),
        (STUDENTS.replace("\t", ","), False, False),
        (STUDENTS + '\n"4"\t"Art"\t"A"\t"Fall"\t"9"', False, False),
        (STUDENTS.replace('"Score"', "Score"), False, False),
        (f"```\n{STUDENTS}\n```", False, True),
        (STUDENTS.replace('"A"', '""'), True, False),
        (STUDENTS + "\n\n", False, True),
        # the published code fails
        (STUDENTS.replace('"A"', ""), False, False),
    ],
}
"""By instruction id: a text, and whether it follows in the faithful and in the repaired edition.

The published code gave the same faithful verdicts.
"""
