"""Numbers with their nouns."""

from kabc.core.words import counted, percent, plural


def test_a_number_has_the_noun_that_fits() -> None:
    assert [counted(n, "sample") for n in (0, 1, 2, 12_345)] == ["0 samples", "1 sample", "2 samples", "12,345 samples"]
    assert counted(2, "category") == "2 categories"
    assert (plural(1, "is"), plural(2, "is")) == ("is", "are")


def test_chances_are_read_in_per_cent() -> None:
    assert [percent(p) for p in (0.05, 0.001, 1.0, 0.07, 1e-9)] == ["5 %", "0.1 %", "100 %", "7 %", "1e-07 %"]
