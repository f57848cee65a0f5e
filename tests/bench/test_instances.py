from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kabc.bench import (
    INSTANCES,
    SUITES,
    Instance,
    categories,
    gaussian,
    load_instances,
    mixture,
    pool,
)
from kabc.core.errors import SettingsError
from kabc.core.partitions import Partition

REAL = [one.name for one in SUITES["real"]]  # pools, whose moments are those of their rows
MANY = ["boc-yeast", "acb-10"]  # a thousand columns or arms say nothing new
MOMENTS = [name for name, one in INSTANCES.items() if name not in REAL + MANY and one.sigma is not None]


@pytest.mark.parametrize("name", MOMENTS)
def test_declared_moments_are_those_of_the_samples(name: str) -> None:
    n = 4000
    for law in INSTANCES[name].laws:
        assert law.mean is not None
        assert law.spreads is not None
        assert law.sd is not None
        rows = law.draw(n, np.random.default_rng(3))
        unit = np.where(law.spreads > 0, law.spreads, 1.0)
        # five standard errors, of up to a thousand columns
        assert np.abs((rows.mean(axis=0) - law.mean) / unit).max() < 5 / np.sqrt(n)
        assert np.abs(rows.std(axis=0) / unit - (law.spreads > 0)).max() < 8 / np.sqrt(n)
        if rows.shape[1] < 50:
            widest = np.sqrt(np.linalg.eigvalsh(np.atleast_2d(np.cov(rows.T)))[-1])
            assert widest == pytest.approx(law.sd, rel=0.12)


def test_laws_draw_what_numpy_draws_with_its_checks() -> None:
    ours, theirs = np.random.default_rng(7), np.random.default_rng(7)
    weights = [0.1, 0.2, 0.3, 0.4]
    assert np.array_equal(categories(weights).draw(200, ours), theirs.choice(4, size=(200, 1), p=weights))
    assert np.array_equal(gaussian([1, 2], 3.0).draw(200, ours), [1, 2] + 3.0 * theirs.normal(size=(200, 2)))
    parts = [gaussian(0), gaussian(5), gaussian(9)]
    mixed = mixture([0.5, 0.25, 0.25], parts)
    for n in (1, 2, 3, 200):
        counts = theirs.multinomial(n, [0.5, 0.25, 0.25])
        rows = np.concatenate([part.draw(int(count), theirs) for part, count in zip(parts, counts, strict=True)])
        assert np.array_equal(mixed.draw(n, ours), theirs.permutation(rows))
    assert ours.random() == theirs.random()


def test_names_are_unique_and_truth_has_the_declared_sizes() -> None:
    assert len(INSTANCES) == sum(len(suite) for suite in SUITES.values())
    for one in INSTANCES.values():
        assert sorted(map(len, Partition.of(one.labels).groups)) == sorted(one.sizes)


def test_facts_say_what_strategies_may_assume() -> None:
    facts = {name: set(INSTANCES[name].facts) for name in INSTANCES if name != "boc-yeast"}
    assert facts["boc-easy"] == {"normal", "means differ"}
    assert facts["same-mean-200"] == {"two groups"}
    assert facts["shapes"] == {"one column"}
    assert facts["mirror"] == {"one column", "two groups"}
    assert facts["coins"] == {"means differ", "one column", "finite alphabet"}
    assert facts["sparse-53"] == {"normal", "means differ", "two groups"}
    assert "means differ" not in facts["cauchy"]  # it has none
    assert "normal" not in facts["scales-100d"]  # two spreads


def test_the_paper_s_instances_have_its_constants() -> None:
    from kabc.strategies.peers.boc import hardness

    for name, expected in {"boc-easy": 0.6327, "boc-moderate": 12.14, "boc-challenging": 48.14, "boc-iris": 2}.items():
        one = INSTANCES[name]
        assert hardness(np.array([law.mean for law in one.laws]), one.sizes) == pytest.approx(expected, rel=2e-4)
    acb = INSTANCES["acb-10"]
    assert acb.gaps is not None
    assert acb.gaps == pytest.approx(1.0)
    sparse = INSTANCES["sparse-53"]
    assert sparse.gaps == pytest.approx(15.0)


def test_standardised_columns_have_spread_one_at_most_and_the_same_truth() -> None:
    wine = INSTANCES["wine"]
    scaled = wine.standardised()
    spreads = np.array([law.spreads for law in scaled.laws])
    assert spreads.max(axis=0) == pytest.approx(1.0)
    assert scaled.labels == wine.labels
    assert scaled.sigma is not None
    assert 1 <= scaled.sigma <= np.sqrt(13)
    rng, again = np.random.default_rng(0), np.random.default_rng(0)
    widest = np.array([law.spreads for law in wine.laws]).max(axis=0)
    assert scaled.laws[1].draw(4, rng) == pytest.approx(wine.laws[1].draw(4, again) / widest)


def test_without_a_standard_deviation_there_is_no_standardised_form() -> None:
    with pytest.raises(SettingsError, match="no standard deviation"):
        INSTANCES["cauchy"].standardised()


def test_as_many_laws_as_sizes() -> None:
    with pytest.raises(SettingsError, match="2 sizes but 1 laws"):
        _ = Instance("short", "", (2, 2), lambda: [gaussian(0)]).laws


def test_a_pool_has_exactly_the_moments_of_its_rows() -> None:
    law = pool([1.0, 2.0, 6.0])
    assert law.mean == pytest.approx([3.0])
    assert law.sd == pytest.approx(np.std([1.0, 2.0, 6.0]))


OWN = """
from kabc.bench import Instance, gaussian

INSTANCES = [Instance("mine", "a test", (2, 2), lambda: [gaussian(0), gaussian(4)])]
"""


def test_own_instances_come_from_a_python_file(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    found = load_instances(tmp_path / "own.py")
    assert found["mine"].n_arms == 4
    assert found["mine"].gaps == pytest.approx([4.0])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("missing.py", None, "there is no file"),
        ("data.csv", "a,b", "must end in .py"),
        ("broken.py", "1 / 0", "ZeroDivisionError"),
        ("empty.py", "", "must have a list INSTANCES"),
        ("wrong.py", "INSTANCES = [1]", "must have a list INSTANCES"),
    ],
)
def test_a_bad_file_is_refused_by_its_name(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError, match=message) as caught:
        load_instances(tmp_path / name)
    assert name in str(caught.value)
