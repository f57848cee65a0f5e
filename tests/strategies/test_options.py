"""Options are checked before a strategy is made; what goes wrong inside it with them names them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kabc import KABC, SettingsError
from kabc.strategies.entry import StrategyEntry
from kabc.strategies.options import checked_options


class Needy:
    def __init__(self, n_arms: int, n_clusters: int, delta: float, *, gap: float, growth: float = 2.0) -> None:
        if growth < 0:
            raise TypeError("a bug inside")

    @classmethod
    def made(cls, n_arms: int, n_clusters: int, delta: float, growth: float = 2.0) -> Needy:
        return cls(n_arms, n_clusters, delta, gap=1.0, growth=growth)


def takes_all(n_arms: int, n_clusters: int, delta: float, **options: Any) -> Needy:
    return Needy(n_arms, n_clusters, delta, gap=1.0)


def checked(make: Any, needs_kernel: bool = False, **options: Any) -> dict[str, Any]:
    return checked_options("mine", make, options, needs_kernel=needs_kernel)


@pytest.mark.parametrize("make", [partial(Needy, gap=1.0), Needy.made, partial(partial(Needy, gap=1), growth=3.0)])
def test_partials_and_classmethods_have_options(make: Any) -> None:
    assert checked(make, growth=1.5) == {"growth": 1.5}
    with pytest.raises(SettingsError, match=r"strategy 'mine' has no option 'grwth'; did you mean 'growth'\? it has "):
        checked(make, grwth=1.5)


def test_all_allowed_options_are_listed() -> None:
    with pytest.raises(SettingsError, match=r"no option 'speed'; it has 'gap', 'growth'$"):
        checked(Needy, speed=1)
    with pytest.raises(SettingsError, match=r"no option 'speed'; it has none$"):
        checked(lambda n_arms, n_clusters, delta: None, speed=1)
    assert checked(takes_all, speed=1) == {"speed": 1}


def test_what_is_missing_is_named() -> None:
    with pytest.raises(SettingsError, match=r"missing a required .*'gap'"):
        checked(Needy)
    with pytest.raises(SettingsError, match=r"cannot be made.*too many positional"):
        checked(lambda n_arms: None)


def test_what_is_an_argument_is_no_option() -> None:
    for name in ("n_arms", "n_clusters", "delta"):
        with pytest.raises(
            SettingsError, match=f"{name!r} is not an option of strategy 'mine'; pass it as the argument"
        ):
            checked_options("mine", Needy, {"gap": 1.0, name: 3}, needs_kernel=False)
    with pytest.raises(SettingsError, match="'kernel' is not an option"):
        checked(KABC, needs_kernel=True, kernel=None)


def test_an_error_inside_a_constructor_names_the_options_and_is_kept_as_the_cause() -> None:
    entry = StrategyEntry(name="mine", make=Needy)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=r"'growth': -1.0\}: TypeError: a bug inside; correct them") as caught:
        entry.build(4, 2, 0.1, None, {"gap": 1.0, "growth": -1.0})
    assert isinstance(caught.value.__cause__, TypeError)


def test_without_options_it_is_shown_as_it_is() -> None:
    broken = StrategyEntry(name="mine", make=lambda n_arms, n_clusters, delta: 1 / 0)  # type: ignore[arg-type,return-value]
    with pytest.raises(ZeroDivisionError):
        broken.build(4, 2, 0.1, None)
