"""From settings to arms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kabc.arms.base import NamedArms
from kabc.config.overlay import configured
from kabc.config.sources import open_arms

WORDS = "arm,answer,seconds\n" + "a,alpha beta gamma,1\nb,delta,2\na,epsilon,3\nb,zeta eta,4\n" * 5


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words.csv"
    path.write_text(WORDS)
    return path


def opened(options: dict[str, Any], *, with_kernel: bool = False) -> NamedArms:
    return open_arms(configured(None, options), 0, with_kernel=with_kernel)


def test_a_table_gives_an_arm_for_each_name(words: Path) -> None:
    arms = opened({"path": str(words), "arm": "arm", "values": ["seconds"]})
    assert list(arms) == ["a", "b"]
    assert arms.columns == ("seconds",)
    assert {arm.remaining for arm in arms.values()} == {10}
    assert set(np.asarray(arms["a"].draw(10, np.random.default_rng(0))).ravel()) == {1.0, 3.0}


def test_text_is_read_as_characters_for_a_kernel_and_as_features_for_bets(words: Path) -> None:
    options = {"path": str(words), "arm": "arm", "values": ["answer"], "types": {"answer": "text"}}
    by_bets, by_kernel = opened(options), opened(options, with_kernel=True)
    rng = np.random.default_rng(0)
    codes, features = np.asarray(by_kernel["a"].draw(10, rng)), np.asarray(by_bets["a"].draw(10, rng))
    texts = {"".join(map(chr, row[row > 0].astype(int))) for row in codes}
    assert texts == {"alpha beta gamma", "epsilon"}
    assert np.abs(features).max() <= 1


def test_commands_are_arms_that_never_run_out() -> None:
    arms = opened({"run": {"one": "echo 1", "two": "echo 2"}, "measure": "output"})
    assert list(arms) == ["one", "two"]
    assert {arm.remaining for arm in arms.values()} == {None}


def test_endpoints_of_a_file_are_arms_with_a_price(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text('[http]\nprice = 0.5\n[http.endpoints]\na = "http://localhost/a"\nb = "http://localhost/b"\n')
    arms = open_arms(configured(study, {}), 0, with_kernel=False)
    assert (list(arms), arms.price) == (["a", "b"], 0.5)
