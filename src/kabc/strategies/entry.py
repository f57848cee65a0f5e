"""One entry says everything about a strategy: how it is made, what it assumes and needs, how a bench sets it up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from kabc.core.arrays import Array
from kabc.core.errors import KabcError, SettingsError
from kabc.core.kernels import Kernel
from kabc.strategies.base import Strategy
from kabc.strategies.options import checked_options

GuaranteeKind = Literal["proven", "heuristic", "oracle budget"]
Options = dict[str, Any]

RECONSTRUCTION = " (reconstruction)"


class UnfitError(KabcError):
    """The strategy cannot be set up on the instance at all."""


class InstanceFacts(Protocol):
    """What a strategy may be told about a bench instance."""

    @property
    def n_groups(self) -> int:
        """K."""

    @property
    def sigma(self) -> float | None:
        """The largest standard deviation of any group along any direction, if there is one."""

    @property
    def gaps(self) -> Array | None:  # (K (K - 1) / 2,)
        """Distances between the means of the groups, if there are means."""

    @property
    def min_share(self) -> float:
        """The smallest share of the arms that a group has."""

    @property
    def symbols(self) -> int | None:
        """The size of the alphabet, where all samples come from one."""

    @property
    def facts(self) -> frozenset[str]:
        """What is true of the instance: "normal", "means differ", "one column", "finite alphabet", "two groups"."""


def no_options(instance: InstanceFacts, seed: int) -> Options:
    """The defaults of the strategy."""
    return {}


@dataclass(frozen=True)
class BenchSetup:
    """How `kabc bench` sets a strategy up.

    Parameters
    ----------
    requires : frozenset of str
        Facts of an instance that the strategy assumes, see `InstanceFacts.facts`. Tables say where one is violated.
    options : callable
        ``options(instance, seed)`` gives the options of one run. It raises `UnfitError` where there are none.
    by_means : bool
        Samples come in units of their standard deviation.
    one_round : bool
        The strategy has no stopping rule. It takes ``samples_per_arm``, and the bench looks for the smallest number
        that is enough.
    own_kernel : bool
        The kernel comes from the samples that are grouped, not from a pilot. Only without a proof.
    most_arms : float
        With more arms one round takes too long.
    """

    requires: frozenset[str] = frozenset()
    options: Callable[[InstanceFacts, int], Options] = no_options
    by_means: bool = False
    one_round: bool = False
    own_kernel: bool = False
    most_arms: float = math.inf

    def violated(self, instance: InstanceFacts) -> tuple[str, ...]:
        """Assumptions that do not hold on the instance."""
        return tuple(sorted(self.requires - instance.facts))


@dataclass(frozen=True)
class StrategyEntry:
    """One strategy of the list that `kabc strategies`, `kabc.cluster` and `kabc bench` read.

    Parameters
    ----------
    name : str
        What people type.
    make : callable
        ``make(n_arms, n_clusters, delta, **options)``, with ``kernel=`` as well if `needs_kernel`; gives a strategy.
    needs_kernel : bool
        Whether it tests with a kernel.
    title : str
        How tables call it. Default: the name. The title of a reconstruction says that it is one.
    paper : str
        Where it comes from.
    assumptions : tuple of str
        What must hold for the guarantee.
    guarantee : {"proven", "heuristic", "oracle budget"}
        Whether the error probability is proven.
    needs : tuple of str
        What people have to know or give.
    reconstruction : bool
        Whether parts had to be filled in because the paper leaves them open and has no public code.
    bench : BenchSetup
        How `kabc bench` sets it up.

    Examples
    --------
    >>> import kabc
    >>> entry = kabc.StrategyEntry(name="mine", make=kabc.AnytimeKABC, paper="my thesis")
    >>> entry.title, entry.guarantee
    ('mine', 'heuristic')
    """

    name: str
    make: Callable[..., Strategy]
    needs_kernel: bool = False
    title: str = ""
    paper: str = ""
    assumptions: tuple[str, ...] = ()
    guarantee: GuaranteeKind = "heuristic"
    needs: tuple[str, ...] = ()
    reconstruction: bool = False
    bench: BenchSetup = field(default_factory=BenchSetup)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or set(self.name) & set(" ,:[]="):
            raise SettingsError(
                f"name must be a word without spaces and without , : [ ] =, got {self.name!r}; e.g. 'energy'"
            )
        if not callable(self.make):
            raise SettingsError(f"make of strategy {self.name!r} must be a class or a function, got {self.make!r}")
        if self.guarantee not in get_args(GuaranteeKind):
            allowed = ", ".join(map(repr, get_args(GuaranteeKind)))
            raise SettingsError(f"guarantee of strategy {self.name!r} must be one of {allowed}, got {self.guarantee!r}")
        title = self.title or self.name
        if self.reconstruction and RECONSTRUCTION not in title:
            title += RECONSTRUCTION
        object.__setattr__(self, "title", title)

    def build(
        self,
        n_arms: int | None,
        n_clusters: int | None,
        delta: float,
        kernel: Kernel | None,
        options: Mapping[str, Any] | None = None,
    ) -> Strategy:
        """A fresh strategy. Options that it does not have are refused; its own checks refuse bad values."""
        settings = checked_options(self.name, self.make, options or {}, needs_kernel=self.needs_kernel)
        if self.needs_kernel:
            settings["kernel"] = kernel
        try:
            return self.make(n_arms, n_clusters, delta, **settings)
        except KabcError:
            raise
        except Exception as error:
            if not options:  # then it is a fault of the strategy
                raise
            raise SettingsError(
                f"strategy {self.name!r} cannot be made with the options {dict(options)!r}: {type(error).__name__}: "
                f"{error}; correct them, or leave them out"
            ) from error

    def facts(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "paper": self.paper,
            "assumptions": list(self.assumptions),
            "guarantee": self.guarantee,
            "needs": list(self.needs),
            "needs_kernel": self.needs_kernel,
            "reconstruction": self.reconstruction,
        }
