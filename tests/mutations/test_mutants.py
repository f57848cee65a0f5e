"""The table of mutants stays true: every text that it changes is there, and so is every test that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.mutations.all import MUTANTS
from tests.mutations.mutants import Mutant

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src" / "kabc"


def name(mutant: Mutant) -> str:
    return f"{mutant.module}: {mutant.why}"


@pytest.mark.parametrize("mutant", MUTANTS, ids=name)
def test_a_mutant_can_be_made_and_its_test_is_there(mutant: Mutant) -> None:
    source = (SOURCE / mutant.module).read_text(encoding="utf-8")
    mutated = mutant.applied(source)
    assert mutated != source
    compile(mutated, mutant.module, "exec")
    path, test = mutant.test.split("::")
    tests = (TESTS / path).read_text(encoding="utf-8")
    assert len(re.findall(rf"^def {test}\(", tests, re.MULTILINE)) == 1


def test_no_mutant_is_listed_twice() -> None:
    changes = [(mutant.module, mutant.original, mutant.mutated) for mutant in MUTANTS]
    assert len(set(changes)) == len(changes)


def test_a_text_that_is_gone_is_named() -> None:
    with pytest.raises(ValueError, match=r"betting.py: 'a text' occurs 0 times"):
        Mutant("core/evidence/betting.py", "a text", "", "", "").applied("")
