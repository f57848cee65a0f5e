"""Spending: every call is paid, and none goes over the limit."""

from __future__ import annotations

from typing import Any

import pytest

from kabc.arms.failures import SpendError
from kabc.arms.http import http_arms
from kabc.arms.http.spending import Spending
from kabc.core.errors import SettingsError
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
    options: dict[str, Any] = {"price": 1.0, "max_spend": 5.0, "on_failure": on_failure, "retries": 9}
    with pytest.raises(SpendError):
        one(server.url("broken"), 50, **options)
    assert server.count("broken") == 5


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
