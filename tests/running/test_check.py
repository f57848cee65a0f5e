"""kabc.check: one arm against a reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kabc
from kabc.core.words import shown
from tests.running.examples import Draw, counting, normal

BUILDS = {"v1": normal(10), "v2": normal(10), "v3": normal(13)}


def check(arms: Any = BUILDS, **given: Any) -> kabc.Result:
    return kabc.check(arms, **{"this": "v2", "tolerance": "1 sd", "seed": 0, "progress": False, **given})


def test_equal_arms_are_the_same_and_the_first_line_says_so() -> None:
    result = check(same_as="v1")
    assert (result.verdict, result.status, result.reference) == ("same", "decided", ("v1",))
    assert result.names == ("v1", "v2") and result.labels == (0, 0)
    first = str(result).split("\n")[0]
    assert first.startswith("same: v2 is within 1 standard deviation of v1 (wrong with probability at most 5 %; ")
    assert "certified: within " in str(result)


def test_a_difference_is_said_with_its_effect_against_the_pooled_reference() -> None:
    result = check(this="v3", same_as=["v1", "v2"])
    assert (result.verdict, result.reference, result.names) == ("different", ("v1", "v2"), ("v1 and v2", "v3"))
    first = str(result).split("\n")[0]
    assert first.startswith("different: v3 differs from v1 and v2: median 1.")
    assert "times (1." in first
    assert "note: reference: each sample comes from one of 2 arms, chosen at random" in str(result)


def test_the_rest_is_the_default_reference_and_of_rows_all_are_read_together() -> None:
    rng = np.random.default_rng(0)
    pools = {name: rng.normal(size=n) for name, n in (("a", 200), ("b", 500), ("c", 100), ("d", 300))}
    result = check(pools, this="d", tolerance="1 sd")
    assert result.verdict == "same" and result.reference == ("a", "b", "c")
    assert "reference: all rows of 3 arms together, in random order" in result.notes


def test_too_few_rows_say_what_is_known_and_what_is_missing() -> None:
    rng = np.random.default_rng(0)
    result = check({"old": rng.normal(9, 1, 300), "new": rng.normal(9, 1, 300)}, this="new", tolerance="0.2 sd")
    assert (result.verdict, result.status) == ("open", "exhausted")
    assert result.samples_per_arm == {"old": 300, "new": 300}  # to the last row
    first = str(result).split("\n")[0]
    assert first.startswith("not known: within 0.") and "for 0.2 standard deviations about" in first
    assert "more rows of each" in first


def test_a_table_with_fewer_rows_than_a_pilot_gets_a_smaller_pilot_and_a_tiny_one_none() -> None:
    rng = np.random.default_rng(0)
    assert check({"a": rng.normal(size=40), "b": rng.normal(size=300)}, this="a").samples_per_arm["a"] == 40
    tiny = check({"a": rng.normal(size=9), "b": rng.normal(size=300)}, this="a")
    assert (tiny.verdict, tiny.n_samples) == ("open", 0)
    assert str(tiny).startswith("not known: there are no more rows before anything was certified (0 samples)")


def test_a_budget_ends_it_as_not_known() -> None:
    result = check(same_as="v1", tolerance="0.05 sd", max_samples=300)
    assert (result.verdict, result.status) == ("open", "budget")
    assert result.n_samples <= 300


def test_only_arms_that_are_named_are_drawn() -> None:
    log: list[int] = []
    arms: dict[str, Draw] = {**BUILDS, "dear": counting(normal(0), log)}
    check(arms, same_as=("v1",))
    assert not log


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"this": "v22"}, "this='v22' is not an arm; did you mean 'v2'\\? the arms are 'v1', 'v2', 'v3'"),
        ({"same_as": ["v1", "x"]}, "same_as='x' is not an arm"),
        ({"same_as": ["v1", "v2"]}, "same_as= names 'v2', the arm that is checked"),
        ({"same_as": ["v1", "v1"]}, "same_as= names 'v1' twice"),
        ({"same_as": []}, "same_as= is empty"),
        ({"this": ["v1"]}, "is not an arm"),
        ({"tolerance": None}, "a check needs a tolerance"),
        ({"tolerance": "-2%"}, "has a sign"),
        ({"max_samples": 100}, "121 are needed at least, 120 of them for a pilot"),
        ({"block": "auto", "same_as": ["v1", "v3"]}, "pass a length"),
        ({"delta": 2}, "delta"),
    ],
)
def test_bad_input_is_refused_before_a_sample(given: dict[str, Any], said: str) -> None:
    log: list[int] = []
    arms = {name: counting(draw, log) for name, draw in BUILDS.items()}
    with pytest.raises(kabc.KabcError, match=said):
        check(arms, **given)
    assert not log


def test_one_arm_is_refused_and_an_arm_called_rest_is_named_by_a_list() -> None:
    with pytest.raises(kabc.ArmError, match="at least 2 arms"):
        check({"v2": normal(0)})
    arms = {"v2": normal(0), "rest": normal(0), "x": normal(9)}
    with pytest.raises(kabc.SettingsError, match="one arm has this name"):
        check(arms)
    assert check(arms, same_as=["rest"]).reference == ("rest",)


def test_names_may_be_tuples_and_numbers() -> None:
    arms = {("a", 1): normal(0), 2: normal(0), 3: normal(0)}
    result = check(arms, this=2, same_as=("a", 1))
    assert result.reference == (("a", 1),) and result.verdict == "same"
    assert check(arms, this=("a", 1), same_as=(2, 3)).reference == (2, 3)


def test_a_name_that_reads_like_the_pool_is_not_taken_for_it() -> None:
    arms = {"a": normal(0), "b": normal(0), "a and b": normal(9)}
    result = check(arms, this="a and b")
    assert result.names == ("a and b (together)", "a and b") and result.verdict == "different"


def test_rows_that_depend_on_each_other_make_it_doubtful_and_the_arm_is_named() -> None:
    rng = np.random.default_rng(0)
    pools = {name: rng.normal(size=600) for name in ("a", "b", "c")}
    pools["b"] = np.cumsum(rng.normal(size=600))
    result = check(pools, this="c")
    assert (result.verdict, result.status) == ("open", "doubtful")
    assert result.assumptions[0].arm == "a and b" and result.assumptions[0].what.endswith("(b)")
    assert str(result).startswith("Doubtful: in a and b samples depend on each other")
    assert kabc.check(pools, this="c", tolerance="1 sd", seed=0, watch=False, progress=False).verdict == "different"


def test_live_arms_of_a_pool_are_watched_one_by_one() -> None:
    state = {"last": 0.0}

    def sticky(n: int, rng: np.random.Generator) -> Any:
        found = []
        for step in rng.normal(size=n):
            state["last"] = 0.8 * state["last"] + 0.6 * step  # a standard normal law that remembers
            found.append(state["last"])
        return np.array(found)

    result = check({"a": normal(0), "b": sticky, "c": normal(0)}, this="c", tolerance="0.3 sd", max_samples=2_000)
    assert result.status == "doubtful" and result.assumptions[0].what.endswith("(b)")


def test_the_same_seed_gives_the_same_answer_with_any_number_of_workers() -> None:
    given = {"this": "v3", "same_as": ["v1", "v2"]}
    one, two, other = check(**given), check(**given, workers=2), check(**given, seed=1)
    assert one.samples_per_arm == two.samples_per_arm and np.array_equal(one.samples["v3"], two.samples["v3"])
    assert not np.array_equal(one.samples["v3"], other.samples["v3"])


def test_a_check_is_saved_and_loaded_and_its_file_is_not_believed_blindly(tmp_path: Path) -> None:
    result = check(this="v3", same_as=["v1", "v2"])
    result.save(tmp_path / "r.json")
    again = kabc.load_result(tmp_path / "r.json")
    assert again == result and str(again) == str(result)
    text = (tmp_path / "r.json").read_text(encoding="utf-8")
    assert '"verdict": "different"' in text or '"verdict":"different"' in text
    (tmp_path / "forged.json").write_text(text.replace('"verdict": "different"', '"verdict": "same"', 1))
    if (tmp_path / "forged.json").read_text() != text:
        with pytest.raises(kabc.KabcError, match="verdict"):
            kabc.load_result(tmp_path / "forged.json")


def test_a_failed_draw_keeps_what_was_paid_for_as_a_check() -> None:
    def fails(n: int, rng: np.random.Generator) -> Any:
        if rng.random() < 0.2:
            raise ConnectionError("the line is dead")
        return rng.normal(size=n)

    with pytest.raises(kabc.ArmError, match="the line is dead") as caught:
        check({"a": normal(0), "b": normal(0), "c": fails}, this="a", tolerance="0.1 sd")
    assert caught.value.arm == "c"
    so_far = caught.value.result
    assert so_far.verdict == "open" and so_far.reference == ("b", "c") and so_far.n_samples > 0
    assert "the run failed" in str(so_far)


def test_columns_are_named_where_there_are_several() -> None:
    def two(mean: float) -> Any:
        return lambda n, rng: np.stack([rng.normal(0, 1, n), rng.normal(mean, 1, n)], axis=1)

    result = check({"a": two(0), "b": two(5)}, this="b")
    assert "column 2: median" in str(result).split("\n")[0]


def test_a_certificate_names_all_arms_of_the_reference_and_forges_nothing() -> None:
    forged = "x\nCERTIFICATE of kabc\x1b[2J"
    result = check({"a": normal(0), forged: normal(0), "c": normal(0)}, this="c")
    said = result.certificate()
    assert f"  - reference: a, {shown(forged)}" in said.split("\n") and "  - checked: c" in said.split("\n")
    assert not [line for line in said.split("\n")[1:] if line.startswith("CERTIFICATE")]


def test_blocks_of_rows_are_chosen_whole() -> None:
    rng = np.random.default_rng(0)
    pools = {name: np.repeat(rng.normal(size=400), 5) for name in ("a", "b", "c")}  # each value five times
    plain = check(pools, this="c")
    assert plain.status == "doubtful"
    for block in (5, "auto"):
        result = check(pools, this="c", block=block)
        assert result.verdict == "same" and result.block >= 5, str(result)


def test_categories_have_no_size_that_could_change() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"host": ["x", "y"] * 200, "kind": ["ok", "ok", "fail", "ok"] * 100})
    with pytest.raises(kabc.SettingsError, match="kind holds categories"):
        kabc.check(frame, arm="host", this="x", tolerance="2%", seed=0)
    distance = kabc.KernelDistance(0.2)
    assert kabc.check(frame, arm="host", this="x", tolerance=distance, seed=0, watch=False).verdict == "different"


# ------------------------------------------------------------ quantiles


def latency(factor: float) -> Draw:
    return lambda n, rng: factor * rng.lognormal(3.0, 0.2, n)


LATENCIES = {"v1": latency(1.0), "v2": latency(1.0), "v3": latency(1.4)}


def test_quantiles_of_an_arm_are_the_same_as_those_of_a_pool() -> None:
    result = check(LATENCIES, same_as="v1", tolerance={"p50": "10%", "p90": "20%"})
    assert (result.verdict, result.status, result.n_pilot) == ("same", "decided", 0)
    lines = str(result).split("\n")
    assert lines[0].startswith(
        "same: v2 has p50 within 10 %, p90 within 20 % of v1 (wrong with probability at most 5 %"
    )
    assert lines[1].startswith("certified: p50 within ") and "p90 within" in lines[1]
    assert any(line.startswith("    p90: v2 2") and line.endswith("(estimates)") for line in lines)


def test_the_quantile_that_differs_is_the_effect_and_is_kept_in_the_file(tmp_path: Path) -> None:
    result = check(LATENCIES, this="v3", same_as=["v1", "v2"], tolerance="p50=10%, p90=20%")
    assert result.verdict == "different"
    first, certified = str(result).split("\n")[:2]
    assert first.startswith("different: v3 differs from v1 and v2: p") and " times (wrong with" in first
    assert "differs by at least" in certified
    result.save(tmp_path / "r.json")
    loaded = kabc.load_result(tmp_path / "r.json")
    assert str(loaded) == str(result)
    assert loaded.tolerance is not None
    estimates = loaded.tolerance.quantiles[0].estimates
    assert estimates is not None and 1.2 < estimates[1] / estimates[0] < 1.6


def test_too_few_rows_for_a_quantile_say_what_is_known_and_what_is_missing() -> None:
    rng = np.random.default_rng(0)
    rows = {name: rng.lognormal(3, 0.2, 600) for name in ("old", "new")}
    result = check(rows, this="new", tolerance={"p50": "5%"})
    assert (result.verdict, result.status) == ("open", "exhausted")
    first = str(result).split("\n")[0]
    assert first.startswith("not known: p50 within ") and "; for p50 within 5 % about" in first


def test_a_small_budget_is_enough_for_quantiles_as_they_need_no_pilot() -> None:
    assert check(LATENCIES, this="v3", same_as="v1", tolerance={"p50": 1.0}, max_samples=110).n_samples <= 110


def test_an_absolute_tolerance_and_a_lower_quantile_are_said_in_the_unit_of_the_column() -> None:
    arms = {"v1": normal(0), "v2": normal(-4)}
    result = check(arms, same_as="v1", tolerance={"p50": 1})
    assert str(result).startswith("different: v2 differs from v1: p50 ")
    assert " lower (wrong with" in str(result).split("\n")[0]


# ------------------------------------------------------------ categories and texts


def statuses(path: Path, rows: int = 900) -> Path:
    """Three hosts with the same shares of answers, and one with more errors."""
    rng, lines = np.random.default_rng(0), ["host,status,ms,note"]
    for host in "abcd":
        shares = [0.7, 0.2, 0.1] if host == "d" else [0.95, 0.03, 0.02]
        for status in rng.choice(["ok", "slow", "error"], rows, p=shares):
            lines.append(f"{host},{status},{rng.lognormal(3, 0.2):.3f},text {rng.integers(10**6)} {rng.integers(99)}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_categories_are_compared_by_their_shares_whatever_their_codes_are(tmp_path: Path) -> None:
    table = statuses(tmp_path / "t.csv")
    asked: dict[str, Any] = {"arm": "host", "values": "status", "tolerance": "10% outliers"}
    same, other = (
        check(table, this="a", same_as=["b", "c"], **asked),
        check(table, this="d", same_as=["b", "c"], **asked),
    )
    assert (same.verdict, other.verdict) == ("same", "different")
    assert "share of ok" in str(other).split("\n")[0]
    assert "tolerance: 10 % outliers, as much as status: 10 % outliers" in str(same)


def grouped(arms: Any, **given: Any) -> kabc.Result:
    return kabc.cluster(arms, progress=False, **given)


def test_a_change_that_categories_cannot_have_is_refused_before_a_sample_is_drawn(tmp_path: Path) -> None:
    table = statuses(tmp_path / "t.csv", 90)
    for values, tolerance in (("status", "2%"), ("status", {"p50": "2%"}), ("note", "0.2 sd")):
        for ask, given in ((check, {"this": "a"}), (grouped, {})):
            with pytest.raises(kabc.SettingsError, match=f"{values} holds .*'1% outliers'") as error:
                ask(table, arm="host", values=values, tolerance=tolerance, seed=0, **given)
            assert error.value.result is None
    with pytest.raises(kabc.SettingsError, match="status holds categories"):
        kabc.outliers(table, arm="host", values="status", tolerance="2%", seed=0, progress=False)


def test_numbers_and_categories_can_have_a_tolerance_each(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"arm": "host", "values": ["status", "ms"], "same_as": ["b", "c"]}
    tolerance = {"status": "20% outliers", "ms": "20%"}
    found = [check(statuses(tmp_path / "t.csv"), this=this, tolerance=tolerance, **asked) for this in "ad"]
    assert [one.verdict for one in found] == ["same", "different"]


def test_live_arms_that_return_texts_must_say_what_they_are() -> None:
    def answers(n: int, rng: np.random.Generator) -> list[str]:
        return [str(one) for one in rng.choice(["yes", "no"], n, p=[0.8, 0.2])]

    arms: Any = {"v1": answers, "v2": answers}
    with pytest.raises(kabc.SettingsError, match=r"look like category.*types={'value': 'category'}"):
        check(arms, same_as="v1", tolerance="10% outliers")
    result = check(arms, same_as="v1", tolerance="20% outliers", types={"value": "category"})
    assert (result.verdict, result.columns) == ("same", ("value",))
    with pytest.raises(kabc.SettingsError, match="value holds categories"):
        check(arms, same_as="v1", tolerance="2%", types={"value": "category"})


# ------------------------------------------------------------ a live reference that drifts


class Drifting:
    """A live arm whose values move by so many standard deviations in a sample."""

    def __init__(self, rate: float) -> None:
        self.rate, self.n = rate, 0

    def __call__(self, n: int, rng: np.random.Generator) -> Any:
        values = rng.normal(100, 10, n) + 10 * self.rate * (self.n + np.arange(n))
        self.n += n
        return values


@pytest.mark.parametrize("rate", [1 / 300, 1 / 60])
@pytest.mark.parametrize("tolerance", ["0.2 sd", {"p50": 3}])
def test_a_live_reference_that_drifts_is_no_difference(tolerance: Any, rate: float) -> None:
    """Without waiting, 11 of 24 such runs with 0.2 sd said "different"."""
    for seed in range(4):
        arms: dict[str, Any] = {"old": Drifting(rate), "new": Drifting(0)}
        result = check(arms, this="new", same_as="old", tolerance=tolerance, seed=seed)
        assert (result.verdict, result.status) == ("open", "doubtful")
        assert result.assumptions[0].arm == "old"


def test_waiting_for_a_drift_costs_equal_arms_nothing_and_tables_do_not_wait() -> None:
    steady: dict[str, Any] = {"old": Drifting(0), "new": Drifting(0), "far": lambda n, rng: rng.normal(140, 10, n)}
    watched, blind = (check(steady, this="new", same_as="old", watch=watch) for watch in (True, False))
    assert watched.verdict == "same" and watched.n_samples == blind.n_samples
    watched, blind = (check(steady, this="far", same_as="old", watch=watch) for watch in (True, False))
    assert watched.verdict == blind.verdict == "different"
    assert blind.n_samples < watched.n_samples < 2.5 * blind.n_samples
    rows = {name: np.random.default_rng(5).normal(mean, 10, 500) for name, mean in (("old", 100), ("far", 140))}
    assert check(rows, this="far", same_as="old").n_samples < watched.n_samples


def test_the_certificate_says_which_drift_would_not_show() -> None:
    result = check(same_as="v1")
    unseen = [line for line in result.guarantee.assumptions if line.startswith("not seen by the watch: a drift")]
    assert len(unseen) == 1 and " sd over " in unseen[0]
    rows = {name: np.random.default_rng(0).normal(size=300) for name in ("v1", "v2")}
    assert not [line for line in check(rows).guarantee.assumptions if "drift by less" in line]
