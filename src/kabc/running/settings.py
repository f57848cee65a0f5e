"""What a run is asked for: one value that can be kept, checked, and turned into a strategy."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kabc.core.errors import KabcError, SettingsError
from kabc.core.kernels import Gaussian, Kernel
from kabc.core.samples import describe
from kabc.core.settings import expect_several_groups, positive_number, whole_number
from kabc.core.words import counted
from kabc.strategies import make_strategy, needs_kernel
from kabc.strategies.base import Strategy
from kabc.strategies.cluster import Cluster
from kabc.strategies.options import signature_of
from kabc.strategies.registry import entry_of

KernelChoice = Kernel | Callable[[NDArray[Any]], Kernel] | None

TOLERANCE = "tolerance"  # the strategy that takes a tolerance
AUTO = "auto"  # block: a length that suits the samples

_DELTA = 0.05
_PILOT = 20  # samples of each arm


@dataclass(frozen=True)
class Settings:
    """Everything about a run but its arms, where they are drawn, and who listens. Fields as for `kabc.cluster`."""

    n_clusters: int | None = None
    delta: float | None = None
    kernel: KernelChoice = None
    strategy: str | Strategy | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    max_samples: int | None = None
    min_separation: float | None = None
    pilot: int | None = None
    seed: int = 0
    block: int | str | None = None
    check_k: bool | None = None
    tolerance: object = None
    columns: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()  # columns that hold codes

    @property
    def chosen(self) -> str | Strategy:
        """The strategy, or the name of the one that suits the other settings."""
        if isinstance(self.strategy, str):
            return self.strategy
        if self.strategy is not None:
            return _strategy_object(self.strategy)
        if self.tolerance is not None:
            return TOLERANCE
        return "anytime" if self.kernel is None and self.min_separation is None else "kabc"

    @property
    def error(self) -> float:
        """The largest probability of a wrong answer: delta, or the usual one."""
        return _DELTA if self.delta is None else self.delta

    @property
    def by_kernel(self) -> bool:
        """Whether the strategy tests with a kernel; an unknown name is refused."""
        chosen = self.chosen
        return needs_kernel(chosen) if isinstance(chosen, str) else chosen.kernel is not None

    @property
    def bets(self) -> bool:
        """Whether the strategy bets, so that samples may be anything that features can be made of."""
        return _takes(self.chosen, "block") if isinstance(self.chosen, str) else hasattr(self.chosen, "block")

    @property
    def paired(self) -> bool:
        """Whether samples of different arms may share something."""
        given = self.options.get("paired") if isinstance(self.chosen, str) else getattr(self.chosen, "paired", False)
        return bool(given)

    def with_paired(self, arms: Sequence[Hashable]) -> Settings:
        """The same for these arms, whose samples share something. Only some strategies can compare them."""
        if self.paired or not arms:
            return self
        if isinstance(self.chosen, str) and _takes(self.chosen, "paired") and "paired" not in self.options:
            return replace(self, options={**self.options, "paired": True})
        name = self.chosen if isinstance(self.chosen, str) else type(self.chosen).__name__
        raise SettingsError(
            f"its samples share their prompts or inputs with those of other arms (paired), and strategy {name!r} does "
            "not compare them with each other; use 'anytime' (as an object: with paired=True), or leave out paired="
        ).of_arm(arms[0])

    @property
    def pilot_size(self) -> int:
        """Samples of each arm that a kernel is chosen on."""
        return whole_number("pilot", _PILOT if self.pilot is None else self.pilot, 2)

    @property
    def block_length(self) -> int:
        """Consecutive samples that form one; 1 as long as it is to be found."""
        if isinstance(self.chosen, str):
            return 1 if self.block is None or isinstance(self.block, str) else self.block
        return int(getattr(self.chosen, "block", 1))

    def check(self, n_arms: int, *, finite: bool = False) -> None:
        """Refuse bad settings before a single sample is paid for. `finite`: all arms come to an end, and so the run."""
        self._check_block()
        if self.max_samples is not None:
            whole_number("max_samples", self.max_samples, 1)
        chosen = self.chosen
        expect_several_groups(self.n_clusters if isinstance(chosen, str) else chosen.n_clusters)
        if not isinstance(chosen, str):
            self._check_object(chosen, n_arms)
            return
        self._check_tolerance(chosen)
        if self.kernel is not None and not self.by_kernel and chosen != TOLERANCE:
            raise SettingsError(
                f"strategy {chosen!r} needs no kernel, got {self.kernel!r}; leave it out, or use 'kabc'"
            )
        self._check_end(chosen, n_arms, finite)
        longest = replace(self, block=2) if self.block == AUTO else self  # some refuse blocks
        longest._make(chosen, n_arms, Gaussian(bandwidth=1.0), 2)

    def _check_tolerance(self, name: str) -> None:
        if (self.tolerance is None) != (name != TOLERANCE):
            raise SettingsError(
                f"strategy {name!r} takes no tolerance, got {self.tolerance!r}; leave strategy= out"
                if self.tolerance is not None
                else "strategy 'tolerance' needs a tolerance, the smallest difference that matters, such as '2%'"
            )
        if self.tolerance is not None and self.min_separation is not None:
            raise SettingsError("tolerance and min_separation are two ways to say what matters; pass one of them")

    def _check_block(self) -> None:
        if "block" in self.options:
            raise SettingsError("'block' is not an option of a strategy here; pass it as the argument block=")
        if self.block is None:
            return
        if self.paired and self.block != 1:
            raise SettingsError(f"paired samples do not form blocks, got block={self.block!r}; leave one of them out")
        if self.block != AUTO and (isinstance(self.block, str) or whole_number("block", self.block, 1) < 1):
            raise SettingsError(f"block must be a whole number, 1 or more, or 'auto', got {self.block!r}")
        if not isinstance(self.chosen, str):
            its = self.block_length
            if self.block != its:
                raise SettingsError(
                    f"block={self.block!r} is given beside a strategy object, which has block={its}; leave block= out, "
                    "or make the strategy with it"
                )
        elif self.block != 1 and not _takes(self.chosen, "block"):
            raise SettingsError(
                f"block={self.block!r} is for strategies that bet, and {self.chosen!r} compares single samples; use "
                "strategy 'anytime' without a kernel, or leave block= out"
            )

    def _check_end(self, name: str, n_arms: int, finite: bool) -> None:
        """Something must say when to stop."""
        unlimited = self.max_samples is None and not finite
        open_end = self.n_clusters is None and self.min_separation is None and unlimited
        if open_end and not self._stops_by_itself(name, n_arms):
            raise SettingsError(
                f"strategy {name!r} does not stop by itself without n_clusters; pass n_clusters, min_separation (the "
                "smallest separation s_0 that matters; the number of groups is then found) or max_samples (how much to "
                "draw; a lower bound on the number of groups is then certified)"
            )
        if self.n_clusters is not None and self.min_separation is not None:
            raise SettingsError("n_clusters and min_separation are two ways to know when to stop; pass one of them")
        if self.min_separation is None:
            return
        if not self.by_kernel:
            raise SettingsError(f"min_separation needs a kernel, and strategy {name!r} has none; use 'kabc'")
        positive_number("min_separation", self.min_separation)

    def _stops_by_itself(self, name: str, n_arms: int) -> bool:
        """Whether the strategy stops without K and without a budget."""
        if name == TOLERANCE:
            return True
        if needs_kernel(name):
            return False
        try:
            strategy = make_strategy(name, n_arms, None, _DELTA, None, self.options)
        except KabcError:
            make_strategy(name, n_arms, 2, _DELTA, None, self.options)  # names options that are wrong
            return False  # it needs K
        return bool(getattr(strategy, "stops_by_itself", False))  # strategies of others may not have the attribute

    def _all_options(self) -> dict[str, Any]:
        """The options of the strategy, and the tolerance where it takes one."""
        if self.chosen != TOLERANCE:
            return dict(self.options)
        named = {"tolerance": self.tolerance, "columns": self.columns, "kernel": self.kernel, "seed": self.seed}
        return dict(self.options) | named | {"categories": self.categories}

    def build(self, n_arms: int, kernel: Kernel | None, affordable: int) -> Strategy:
        """The strategy for these arms. `affordable`: samples of each arm that budget and pools allow."""
        chosen = self.chosen
        return self._make(chosen, n_arms, kernel, affordable) if isinstance(chosen, str) else chosen

    def _make(self, name: str, n_arms: int, kernel: Kernel | None, affordable: int) -> Strategy:
        options = self._all_options() | ({} if self.check_k is None else {"check_k": self.check_k})
        if self.n_clusters is not None or not needs_kernel(name):
            options |= {"block": self.block_length} if self.block_length > 1 else {}
            return make_strategy(name, n_arms, self.n_clusters, self.error, kernel, options)
        assert kernel is not None
        if options:
            raise SettingsError(
                f"strategy_options need n_clusters, got {options!r}; without n_clusters CLUSTER is run, "
                "which has no options"
            )
        if self.min_separation is not None:
            return Cluster.for_separation(n_arms, self.min_separation, self.error, kernel)
        if affordable < 2:
            raise SettingsError(
                f"max_samples or the pools allow {counted(max(affordable, 0), 'sample')} per arm; at least 2 are needed"
            )
        return Cluster(n_arms, affordable, self.error, kernel)

    # ------------------------------------------------------------ a strategy object

    def _check_object(self, strategy: Strategy, n_arms: int) -> None:
        """A strategy object is run as it was made; other settings would be ignored, so they are refused."""
        for name in ("n_clusters", "delta", "kernel"):
            value, its = getattr(self, name), getattr(strategy, name)
            if value is not None and not (value is its or value == its):
                has = "which has no kernel" if name == "kernel" and its is None else f"which has {name}={its!r}"
                raise SettingsError(
                    f"{name}={value!r} is given beside a strategy object, {has}; leave {name}= out, or make the "
                    "strategy with it"
                )
        others: dict[str, object] = {"strategy_options": self.options or None}
        others |= {name: getattr(self, name) for name in ("min_separation", "pilot", "check_k", "tolerance")}
        for name, value in others.items():
            if value is not None:
                raise SettingsError(
                    f"{name}={value!r} is given beside a strategy object, which is run as it was made; leave {name}= "
                    "out, or pass the strategy by its name"
                )
        if strategy.n_arms != n_arms:
            raise SettingsError(f"the strategy was made for {strategy.n_arms} arms, got {n_arms}")


def _strategy_object(given: Any) -> Strategy:
    """A strategy that can be run: one that was made, not its class, and not something else."""
    if isinstance(given, type) or not all(hasattr(given, part) for part in ("ask", "tell", "n_arms", "n_clusters")):
        raise SettingsError(
            f"strategy must be the name of a strategy or a strategy object, got {describe(given)}; "
            "kabc strategies lists the names"
        )
    strategy: Strategy = given
    return strategy


def _takes(name: str, option: str) -> bool:
    signature = signature_of(entry_of(name).make)
    return signature is not None and option in signature.parameters


def seed_or_fresh(seed: int | None) -> int:
    """The seed, or one that nobody has chosen."""
    if seed is None:
        return int(np.random.SeedSequence().entropy % 2**63)  # type: ignore[operator]
    return whole_number("seed", seed, 0)
