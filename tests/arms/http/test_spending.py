"""Spending: every call is paid, and none goes over the limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import kabc
from kabc.arms.base import NamedArms
from kabc.arms.failures import SpendError
from kabc.arms.http import http_arms
from kabc.arms.http.spending import Spending
from kabc.core.errors import ArmError, SettingsError
from kabc.report import report_html
from tests.arms.http.server import Server, draw, one


def test_a_limit_pays_for_as_many_calls_as_it_holds_of_all_arms_together() -> None:
    spending = Spending(0.1, 0.3)
    for name in ("x", "y", "x"):
        spending.pay(name)
    with pytest.raises(SpendError, match=r"the next call at 0\.1 would go over max_spend=0\.3; raise it"):
        spending.pay("y")
    assert (spending.of("x"), spending.of("y"), spending.of("z")) == (0.2, 0.1, 0.0)


def test_no_call_goes_over_what_may_be_spent_by_all_arms_together(server: Server) -> None:
    arms = http_arms({"x": server.url("number"), "y": server.url("number")}, price=0.1, max_spend=0.3)
    draw(arms, 2)
    with pytest.raises(SpendError, match=r"arm 'y': the next call at 0\.1 would go over max_spend=0\.3; raise it"):
        draw(arms, 2, name="y")
    assert server.count("number") == 3
    assert [arm.spent for arm in arms.values()] == [0.2, 0.1]  # type: ignore[attr-defined]


@pytest.mark.parametrize("on_failure", ["retry", "encode"])
def test_failed_calls_are_paid_and_no_policy_spends_more(server: Server, on_failure: str) -> None:
    options: dict[str, Any] = {"price": 1.0, "max_spend": 3.0, "on_failure": on_failure, "retries": 9}
    with pytest.raises(SpendError):
        one(server.url("broken"), 50, **options)
    assert server.count("broken") == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"price": -1}, "price must be"),
        ({"max_spend": 0, "price": 1}, "max_spend must be"),
        ({"max_spend": 3}, "max_spend=3 needs the price of one call; set price="),
    ],
)
def test_prices_and_limits_that_make_no_sense_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        http_arms({"x": "http://host"}, **options)
    assert said in str(caught.value)


# ---------------------------------------------------------------- the bill of a run


def endpoints(server: Server, *paths: str, **options: Any) -> NamedArms:
    urls = {path: server.url(path) for path in paths}
    usual: dict[str, Any] = {"concurrency": 2, "on_failure": "retry", "retries": 9}
    return http_arms(urls, price=0.001, **(usual | options))


def bill(server: Server) -> float:
    return 0.001 * len(server.seen)


def test_new_tries_are_on_the_bill_of_a_run_and_on_that_of_each_round(server: Server) -> None:
    seen: list[tuple[int, float]] = []
    result = kabc.cluster(
        endpoints(server, "flaky", "number"),
        2,
        seed=0,
        max_samples=40,
        progress=False,
        on_round=lambda one: seen.append((len(server.seen), one.spent)),
    )
    assert result.n_lost == server.count("flaky") - result.samples_per_arm["flaky"] > 0
    assert result.spent == pytest.approx(bill(server))
    assert all(spent == pytest.approx(0.001 * calls) for calls, spent in seen)
    calls = result.n_samples + result.n_lost
    assert f"spent: {result.spent:,.6g} ({result.n_lost} of {calls} draws gave no sample)" in str(result)


def test_text_and_report_say_how_many_draws_gave_no_sample() -> None:
    arms = [lambda n, rng, mean=mean: rng.normal(mean, 1, n) for mean in (0, 9)]
    result = replace(kabc.cluster(arms, 2, seed=0), price=0.5, n_lost=28)
    told = f"{result.spent:,.6g} (28 of {result.n_samples + 28} draws gave no sample)"
    assert f"spent: {told}" in str(result)
    assert told in report_html(result)
    assert "gave no sample" not in str(replace(result, n_lost=0))


def test_calls_that_were_refused_are_on_the_bill(server: Server) -> None:
    result = kabc.cluster(endpoints(server, "busy", "number"), 2, seed=0, max_samples=12, progress=False)
    assert result.n_lost == 2
    assert result.spent == pytest.approx(bill(server))


def test_warm_ups_are_on_the_bill_and_calls_of_an_earlier_run_are_not(server: Server) -> None:
    arms = endpoints(server, "number", "slow", kind="latency", warmup=2)
    first = kabc.cluster(arms, 2, seed=0, max_samples=8, progress=False)
    assert first.n_lost == 4
    assert first.spent == pytest.approx(bill(server))
    second = kabc.cluster(arms, 2, seed=1, max_samples=8, progress=False)
    assert second.n_lost == 0
    assert first.spent + second.spent == pytest.approx(bill(server))


def test_the_bill_agrees_with_the_most_that_may_be_spent(server: Server) -> None:
    result = kabc.cluster(endpoints(server, "flaky", "number", max_spend=0.02), 2, seed=0, progress=False)
    assert result.status == "budget"
    assert result.spent == pytest.approx(0.02) == pytest.approx(bill(server))


def test_one_error_of_a_server_loses_nothing(server: Server) -> None:
    with pytest.raises(ArmError, match=r"arm 'late': .*500.* \(in round \d+\); \d+ samples .* error\.result") as caught:
        kabc.cluster(endpoints(server, "number", "late", on_failure="raise"), 2, seed=1, progress=False)
    result = caught.value.result
    assert result.status == "failed" and len(result.rounds) > 1
    assert result.spent == pytest.approx(bill(server))
