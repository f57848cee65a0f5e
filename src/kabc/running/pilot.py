"""Which kernel a run tests with: the one given, or one that is chosen on a pilot."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.errors import KabcError, SettingsError
from kabc.core.kernels import Gaussian, Kernel
from kabc.core.samples import as_points, expect_columns
from kabc.running.intake import Intake
from kabc.running.settings import Settings
from kabc.running.steps import Script

PILOT_ROUND = 0  # of the keys that draws are seeded with


def chosen_kernel(settings: Settings, intake: Intake, number: int = PILOT_ROUND) -> Script[tuple[Kernel, int]]:
    """The kernel, and how many samples were drawn to choose it. These are counted, and never tested."""
    given = settings.kernel
    if isinstance(given, Kernel):
        return given, 0
    if given is not None and not callable(given):
        raise SettingsError(f"kernel must be a kabc kernel, a function pilot -> kernel, or None, got {given!r}")
    request = dict.fromkeys(range(len(intake)), settings.pilot_size)
    total = sum(request.values())
    if settings.max_samples is not None and total > settings.max_samples:
        raise SettingsError(
            f"a pilot of {settings.pilot_size} samples of each arm is {total} samples, over "
            f"max_samples={settings.max_samples}; lower pilot=, or pass a kernel with a fixed bandwidth"
        )
    intake.need(request)
    pooled = _pooled(intake.take((yield number, request)), intake.names)
    chosen = Gaussian.from_pilot(pooled) if given is None else given(pooled)
    if not isinstance(chosen, Kernel):
        raise SettingsError(
            f"kernel= was a function that returned {chosen!r} for the pilot; it must return a kabc kernel"
        )
    return chosen, total


def _pooled(samples: Mapping[int, ArrayLike], names: tuple[Hashable, ...]) -> NDArray[np.float64]:  # (n, d)
    """All samples of the pilot as one array."""
    points: list[NDArray[np.float64]] = []
    for arm, rows in samples.items():
        try:
            points.append(as_points(rows))
            expect_columns(points[-1], points[0].shape[1])
        except KabcError as error:
            raise error.of_arm(names[arm]) from None
    return np.concatenate(points)
