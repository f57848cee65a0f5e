"""One root exception, few named children. Every message says what is wrong, the value, and the cure."""

from __future__ import annotations

from typing import Any, Self

from kabc.core.words import counted, plural, shown


class KabcError(Exception):
    """Root of every error that kabc raises on purpose.

    Attributes
    ----------
    arm : object
        Where it concerns one arm, its number or name.
    round : int or None
        Where it ended a run, the round; 0 is the pilot.
    result : Result or None
        Where it ended a run after the first sample: the answer so far, with status "failed". Everything drawn is
        counted there.

    Examples
    --------
    >>> import kabc
    >>> def fails(n, rng):
    ...     if rng.random() < 0.2:
    ...         raise ConnectionError("the line is dead")
    ...     return rng.normal(size=n)
    >>> arms = {"a": lambda n, rng: rng.normal(size=n), "b": fails}
    >>> try:
    ...     kabc.cluster(arms, n_clusters=2, seed=1)
    ... except kabc.KabcError as error:
    ...     error.arm, error.round, error.result.status, error.result.n_samples
    ('b', 8, 'failed', 16)
    """

    arm: object = None
    round: int | None = None
    result: Any = None

    def of_arm(self, arm: object) -> Self:
        """This error, about that arm."""
        self.arm = arm
        return self

    @property
    def what(self) -> str:
        """What is wrong, where, and in which round; without where the samples are."""
        text = shown(super().__str__())  # it may quote a server, a file or a name
        text = text if self.arm is None else f"arm {shown(repr(self.arm))}: {text}"
        return text if self.round is None else f"{text} (in {f'round {self.round}' if self.round else 'the pilot'})"

    def __str__(self) -> str:
        if self.result is None:
            return self.what
        n_samples: int = self.result.n_samples
        return f"{self.what}; {counted(n_samples, 'sample')} drawn so far {plural(n_samples, 'is')} in error.result"


class SettingsError(KabcError, ValueError):
    """A setting is outside what the method allows (N, K, delta, a bandwidth, ...)."""


class ArgumentError(SettingsError, TypeError):
    """A function was called with an argument that it does not have."""


class SampleError(KabcError, ValueError):
    """Samples cannot be used: empty, not finite, of the wrong shape, dimension or number."""


class KernelBoundsError(KabcError, ValueError):
    """A kernel took a value outside its declared supremum and infimum, so its bound would not hold."""


class ProtocolError(KabcError, RuntimeError):
    """ask and tell were used out of order, or for arms that were not asked for."""


class ArmError(KabcError, ValueError):
    """An arm cannot be drawn from: wrong kind, repeated name, or its draw failed. A foreign error is its cause."""


class StrategyError(KabcError, RuntimeError):
    """A strategy failed by an error of its own, which is the cause."""
