"""The demo: its data, its two stories, and the three ways to read it."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine

from kabc import demo

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def printed(folder: Path) -> str:
    """What a person who asks for JSON gets from a fresh Python."""
    command = [sys.executable, "-W", "error", "-m", "kabc.demo", "--json", "--out", "demo.png"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def stories(printed: str) -> list[dict[str, Any]]:
    return list(json.loads(printed)["stories"])


def test_the_shipped_data_equal_the_copy_of_scikit_learn() -> None:
    shipped, original = demo.wine(), load_wine()
    np.testing.assert_array_equal(shipped[:, 1:], original.data)
    np.testing.assert_array_equal(shipped[:, demo.CULTIVAR] - 1, original.target)
    assert original.feature_names[demo.MALIC_ACID - 1] == "malic_acid"


def test_the_sensors_have_equal_means_and_variances_and_mirrored_shapes() -> None:
    right, wrong = demo.stories()[1].pools.values()
    assert right.mean() == pytest.approx(0, abs=1e-12) and wrong.mean() == pytest.approx(0, abs=1e-12)
    assert right.var() == pytest.approx(wrong.var())
    skewness = np.mean(right**3) / right.std() ** 3
    assert skewness > 1
    assert np.mean(wrong**3) / wrong.std() ** 3 == pytest.approx(-skewness)
    values = demo.stories()[0].pools["cultivar 1"]
    others = np.mean((values - values.mean(axis=0)) ** 3, axis=0) / values.std(axis=0) ** 3
    assert skewness == pytest.approx(np.abs(others).max())


def test_groups_are_not_neighbours_in_the_order_of_the_arms() -> None:
    for story in demo.stories():
        pools = list(story.truth(demo.SEED).values())
        changes = sum(a != b for a, b in pairwise(pools))
        assert changes > len(story.pools) - 1
        assert {pools.count(pool) for pool in pools} == {demo.ARMS_PER_POOL}


def test_kabc_finds_the_truth_in_both_stories(stories: list[dict[str, Any]]) -> None:
    assert [story["n_arms"] for story in stories] == [12, 8]
    for story in stories:
        assert story["status"] == "decided"
        pools = [{story["truth"][name] for name in group} for group in story["groups"]]
        assert all(len(pool) == 1 for pool in pools)
        assert len(pools) == story["n_clusters"] == len(set.union(*pools))
        assert story["adjusted_rand"] == story["tight_adjusted_rand"] == 1


def test_means_suffice_for_the_lines_and_fail_for_the_sensors(stories: list[dict[str, Any]]) -> None:
    lines, sensors = stories
    assert lines["adjusted_rand_of_means"] == 1
    assert sensors["adjusted_rand_of_means"] < 0.5


def test_the_tight_variant_draws_fewer_samples(stories: list[dict[str, Any]]) -> None:
    assert all(story["tight_samples"] < story["samples"] for story in stories)


def test_every_sample_of_every_round_is_counted(stories: list[dict[str, Any]]) -> None:
    for story in stories:
        tested = story["n_arms"] * sum(entry["n"] for entry in story["rounds"])
        assert story["samples"] == story["pilot_samples"] + tested
        assert story["samples"] <= story["theorem_bound"]


def test_the_same_seed_gives_the_same_document(
    printed: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    demo.main(["--json"])
    assert capsys.readouterr().out == printed


def test_the_picture_lies_where_the_document_says(printed: str, folder: Path) -> None:
    picture = Path(json.loads(printed)["picture"])
    assert picture == (folder / "demo.png").resolve()
    assert picture.read_bytes().startswith(PNG)


def test_the_text_tells_the_same_facts(
    stories: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demo.main(["--out", str(tmp_path)])
    text = " ".join(capsys.readouterr().out.split())
    assert "CERTIFICATE of KABC(delta = 0.05" in text
    assert f"seed {demo.SEED}" in text
    assert str((tmp_path / "demo.png").resolve()) in text
    assert text.count("WRONG (adjusted Rand") == 1
    for story in stories:
        assert f"decided after {story['samples']:,} samples" in text
        assert all(", ".join(group) in text for group in story["groups"])
        assert all(f"Round {entry['round']} {entry['n']:,} fresh samples" in text for entry in story["rounds"])


def test_without_matplotlib_it_says_how_to_get_it_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    demo.main(["--out", str(tmp_path)])
    assert "pip install 'kabc[plot]'" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"), [(["--seed", "-1"], "--seed must be 0 or more"), (["--out", "no/x.png"], "no folder")]
)
def test_bad_options_are_refused_before_anything_is_drawn(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        demo.main(arguments)
    captured = capsys.readouterr()
    assert message in captured.err
    assert not captured.out
