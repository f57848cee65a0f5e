"""Numbers with their nouns, and texts from outside."""

from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st

from kabc.core.words import counted, did_you_mean, in_short, named, percent, plural, shown, two_digits


def test_a_number_has_the_noun_that_fits() -> None:
    assert [counted(n, "sample") for n in (0, 1, 2, 12_345)] == ["0 samples", "1 sample", "2 samples", "12,345 samples"]
    assert counted(2, "category") == "2 categories"
    assert (plural(1, "is"), plural(2, "is")) == ("is", "are")


def test_chances_are_read_in_per_cent() -> None:
    assert [percent(p) for p in (0.05, 0.001, 1.0, 0.07, 1e-9)] == ["5 %", "0.1 %", "100 %", "7 %", "1e-07 %"]


def test_what_would_not_be_seen_is_shown_as_an_escape() -> None:
    assert shown("a\nb\tc\x1b[31m") == r"a\nb\tc\x1b[31m"
    assert shown("\u202egnp.exe\u2028\ufeff\ud800\x85") == r"\u202egnp.exe\u2028\ufeff\ud800\x85"
    assert shown("Zürich 東京 👩\u200d💻 C:\\new") == "Zürich 東京 👩\u200d💻 C:\\new"


def test_a_blank_name_stands_in_quotes() -> None:
    assert [named(name) for name in ("", "  ", "\n", 7, None)] == ["''", "'  '", r"'\n'", "7", "None"]


@given(st.text(st.characters()))
def test_a_shown_text_is_one_line_without_control_characters_and_shows_the_same_again(text: str) -> None:
    line = shown(text)
    assert len(line.splitlines()) <= 1
    assert not {category(letter) for letter in line if letter not in "\u200c\u200d"} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert shown(line) == line


def test_a_long_list_of_names_is_cut_and_the_rest_counted() -> None:
    names = [f"web-{i:03d}" for i in range(234)]
    assert in_short(names[:20]) == ", ".join(names[:20])
    assert in_short(names) == "web-000, web-001, web-002, web-003, web-004 and 229 more"
    assert in_short(names, everyone=True) == ", ".join(names)


def test_a_misspelt_word_gets_the_nearest_known_one_or_nothing() -> None:
    assert did_you_mean("anytme", ["kabc", "anytime"]) == "did you mean 'anytime'? "
    assert did_you_mean("x" * 10_000, ["kabc", "anytime"]) == did_you_mean(3, []) == ""


def test_estimates_have_two_digits() -> None:
    assert [two_digits(n) for n in (0, 7, 44, 123, 98765)] == [0, 7, 44, 120, 99000]
