"""What one sample costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What one sample costs in money and in seconds; None if that is not known."""

    price: float | None = None
    seconds: float | None = None

    def money(self, n_samples: int) -> float | None:
        """The price of these samples, if it is known."""
        return None if self.price is None else self.price * n_samples

    def duration(self, n_samples: int) -> float | None:
        """The seconds that these samples take, if that is known."""
        return None if self.seconds is None else self.seconds * n_samples

    def lines(self, counts: dict[str, int]) -> list[str]:
        """Money and time of these numbers of samples, in words."""
        shown = {"price": (self.price, "{:,.6g}"), "time": (self.seconds, "{:,.6g} s")}
        return [
            f"{what}: " + ", ".join(f"{form.format(each * count)} ({name})" for name, count in counts.items())
            for what, (each, form) in shown.items()
            if each
        ]
