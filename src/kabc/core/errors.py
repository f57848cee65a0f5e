"""One root exception, few named children. Every message says what is wrong, the value, and the cure."""

from __future__ import annotations

from typing import Self


class KabcError(Exception):
    """Root of every error that kabc raises on purpose. Where it concerns one arm, `arm` is its number or name."""

    arm: object = None

    def of_arm(self, arm: object) -> Self:
        """This error, about that arm."""
        self.arm = arm
        return self

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.arm is None else f"arm {self.arm!r}: {text}"


class SettingsError(KabcError, ValueError):
    """A setting is outside what the method allows (N, K, delta, a bandwidth, ...)."""


class SampleError(KabcError, ValueError):
    """Samples cannot be used: empty, not finite, of the wrong shape, dimension or number."""


class KernelBoundsError(KabcError, ValueError):
    """A kernel took a value outside its declared supremum and infimum, so its bound would not hold."""


class ProtocolError(KabcError, RuntimeError):
    """ask and tell were used out of order, or for arms that were not asked for."""


class ArmError(KabcError, ValueError):
    """An arm cannot be drawn from: wrong kind, repeated name, or its draw failed its contract."""
