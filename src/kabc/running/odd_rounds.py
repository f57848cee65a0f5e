"""The rounds of `kabc.outliers`: a pilot, then all arms equally, to the end of their rows or until enough is known."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from kabc.arms.failures import SpendError
from kabc.arms.tallies import with_counts
from kabc.core.arrays import Array, Mask
from kabc.core.errors import ArmError, KabcError, SettingsError
from kabc.core.tolerances import Equivalents, KernelDistance, Tolerance, parse
from kabc.core.words import counted
from kabc.results.outliers import OutliersResult, OutliersStatus
from kabc.running.blocks import block_length, few_blocks
from kabc.running.intake import Intake
from kabc.running.interrupts import Interrupts, uninterrupted
from kabc.running.pilot import PILOT_ROUND
from kabc.running.progress import Ticker
from kabc.running.settings import AUTO, Settings
from kabc.running.shift import Shift
from kabc.running.sources import Sources
from kabc.running.steps import Script, Stepper, run_here
from kabc.running.tolerances import Kinds
from kabc.strategies.base import checked_samples, in_blocks
from kabc.strategies.outliers import OddOnes, usual
from kabc.strategies.tolerance.reading import by_distance
from kabc.strategies.tolerance.ruler import Ruler, blind_features, code_places, ruler_of
from kabc.study.private import PrivateLedger

PILOT, PILOT_OF_ARM = 120, 5  # samples of the pilot: in all, and of each arm at least
_PILOT_PART = 0.25  # of the samples of an arm, at most
_FEWEST = 2  # samples of the pilot of an arm, and after the pilot
_GROWTH = 0.25  # a round draws this part of what an arm has
_SETTLED = 1.25  # n over n when the odd ones last changed, before arms without an end are left
_TWICE = 2.0  # tolerances: an arm so far away is to be found


@dataclass(frozen=True)
class Extent:
    """How many samples (blocks) each arm can give, which arms are measured, and who is the rest.

    All of it comes from the numbers of rows and the budget, before the first value is seen.
    """

    limits: Array  # (N,), infinite for arms without an end
    most: float  # samples of each arm of the reference
    pilot: int

    @classmethod
    def of(cls, intake: Intake, max_samples: int | None) -> Extent:
        """Most arms decide how many samples are used: those with fewer are compared, but are not part of the rest."""
        left = [intake.left(arm) for arm in range(len(intake))]
        limits = np.array([math.inf if count is None else count // intake.block for count in left])
        most = float(np.sort(limits)[(len(limits) - 1) // 2])
        if max_samples is not None:
            most = min(most, max_samples // (len(intake) * intake.block))
        pilot = max(PILOT_OF_ARM, math.ceil(PILOT / len(intake)))
        if most < math.inf:
            pilot = max(_FEWEST, min(pilot, int(_PILOT_PART * most)))
        return cls(limits, most, pilot)

    @property
    def tested(self) -> Mask:  # (N,)
        """Arms with samples after the pilot."""
        return np.asarray(self.limits >= self.pilot + _FEWEST)

    @property
    def reference(self) -> Mask:  # (N,)
        """The rest: arms with as many samples as most."""
        return np.asarray(self.limits >= self.most)

    def check(self, n_arms: int, max_samples: int | None, endless: bool) -> None:
        """Refuse what leaves nothing to test."""
        least = self.pilot + _FEWEST
        if self.most < least:
            if max_samples is not None and max_samples // n_arms < least:
                raise SettingsError(
                    f"max_samples={max_samples:,} is too small for {counted(n_arms, 'arm')}: it takes at least "
                    f"{least} samples (blocks) of each; raise it, or leave it out"
                )
            raise ArmError(f"most arms have {counted(int(self.most), 'sample')}, it takes at least {least} of each")
        if self.most == math.inf and endless:
            raise SettingsError(
                "these arms have no end, and without a tolerance nothing says when to stop; pass tolerance=, such as "
                "'2%', or max_samples="
            )


class OddRounds:
    """One run of `kabc.outliers`."""

    def __init__(
        self,
        settings: Settings,
        sources: Sources,
        intake: Intake,
        fdr: float,
        kinds: Kinds,
        show: Ticker,
    ) -> None:
        self._settings, self._sources, self._fdr, self._show = settings, sources, fdr, show
        self._intake = intake
        self._extent: Extent | None = None
        self._kinds = kinds
        self._number = PILOT_ROUND
        self._notes: list[str] = []
        self._found: OddOnes | None = None
        self._units: Equivalents | None = None
        self._said: Tolerance | None = None
        self._width: int | None = None  # columns of a sample
        self._rest: Mask = np.zeros(len(sources), dtype=np.bool_)
        if intake.columns or not isinstance(settings.tolerance, Mapping):
            self._parsed(intake.columns or ("value",))  # refuse nonsense before a sample is drawn

    def result(self, interrupts: Interrupts, started: float) -> OutliersResult:
        """Draw and bet, and say what was found."""
        ledger = PrivateLedger(self._sources.facts, self._settings.seed)
        stepper = Stepper(self._asks(), ledger, self._intake)
        try:
            run_here(stepper, Shift(ledger, self._sources, self._show, lambda: self._intake.n_samples))
        except KeyboardInterrupt:
            if self._extent is None:
                raise
            self._notes.append("interrupted: not all samples were drawn")
        except SpendError:
            if self._extent is None:
                raise
            self._notes.append("the money is spent: not all samples were drawn")
        except Exception as error:
            interrupts.over()
            if self._found is not None and self._extent is not None:  # what was paid for is not lost
                self._close(stepper)
                self._notes.append("ended by an error: not all samples were drawn")
                error.result = self._answer(self._extent, started)  # type: ignore[attr-defined]
            raise
        interrupts.over()
        self._close(stepper)
        assert self._extent is not None
        return self._answer(self._extent, started)

    def _close(self, stepper: Stepper[None]) -> None:
        with suppress(KabcError):  # samples that do not fit together: an error is on its way
            stepper.close()

    def _asks(self) -> Script[None]:
        """All rounds."""
        intake, budget = self._intake, self._settings.max_samples
        drawn = 0
        if self._settings.block == AUTO:
            found = yield from block_length(self._settings, intake, self._sources.arms)
            self._settings = replace(self._settings, block=found.length)
            self._number, drawn = found.last_round, found.n_pilot
            self._notes += found.notes
        block = self._settings.block_length
        intake.cut(block, self._sources.cut(block))
        self._notes += few_blocks(intake)
        if intake.watch is not None:
            intake.watch.look(self._sources.arms, block)
        left = None if budget is None else budget - drawn
        extent = Extent.of(intake, left)
        extent.check(len(intake), left, self._settings.tolerance is None)
        self._extent = extent
        yield from self._run(extent)

    # ------------------------------------------------------------ rounds

    def _run(self, extent: Extent) -> Script[None]:
        n, changed, odd = 0, 0, 0
        while n < extent.most:
            wanted = min(extent.pilot if n == 0 else max(_FEWEST, int(_GROWTH * n)), extent.most - n)
            counts = np.where(extent.tested, np.minimum(wanted, extent.limits - n), 0.0)
            yield from self._round({int(arm): int(counts[arm]) for arm in np.flatnonzero(counts > 0)}, extent)
            n += int(wanted)
            assert self._found is not None
            now = int(self._found.odd().sum())
            changed, odd = (n, now) if now != odd else (changed, odd)
            if extent.most == math.inf and n >= max(self._expected_end(), _SETTLED * changed):
                return
            self._show(f"{counted(self._intake.n_samples, 'sample')}, {counted(now, 'odd arm')} so far")

    def _round(self, counts: Mapping[int, int], extent: Extent) -> Script[None]:
        self._number += 1
        block = self._intake.block
        request = {arm: count * block for arm, count in counts.items()}
        drawn = self._intake.take((yield self._number, request))
        comparing = f"comparing {counted(len(counts), 'arm')}, {counted(self._intake.n_samples, 'sample')} so far"
        with uninterrupted(self._show), self._show.during(comparing):
            rows = self._rows(drawn, request)
            samples = in_blocks(rows, block)
            if self._found is None:
                self._begin(samples, extent)
            assert self._found is not None
            self._found.tell(np.array(list(request), dtype=np.intp), samples)

    def _rows(self, drawn: Mapping[int, ArrayLike], request: Mapping[int, int]) -> list[Array]:
        try:
            rows = checked_samples(drawn, dict(request), None, self._width)
        except KabcError as error:
            if isinstance(error.arm, int):  # strategies number arms, people name them
                error.arm = self._intake.names[error.arm]
            raise
        self._width = rows[0].shape[1]
        return rows

    def _begin(self, pilot: Sequence[Array], extent: Extent) -> None:
        """Features, and how far the tolerance reaches in them, from the pilot."""
        assert self._width is not None
        columns = self._intake.columns or (
            ("value",) if self._width == 1 else tuple(f"column {i + 1}" for i in range(self._width))
        )
        self._said = self._parsed(columns)
        ruler, self._units = self._ruler(pilot, columns)
        eps = 0.0 if self._said is None else ruler.eps
        self._rest = extent.reference.copy()
        self._rest[extent.tested] &= usual(ruler, pilot)
        if np.count_nonzero(self._rest) < _FEWEST:
            self._rest = extent.reference
        self._found = OddOnes(self._rest, extent.tested, ruler, eps, self._fdr)

    def _ruler(self, pilot: Sequence[Array], columns: Sequence[str]) -> tuple[Ruler, Equivalents | None]:
        block, said = self._intake.block, self._said
        level = math.log(len(self._sources) / self._fdr)
        rows = np.concatenate([one.reshape(len(one) * block, -1) for one in pilot])
        codes = code_places(columns, self._kinds.categories)
        kernel = blind_features(rows, codes, self._settings.seed) if said is None else None
        tolerance = KernelDistance(1.0) if said is None else said  # without a tolerance, eps is not used
        ruler, units = ruler_of(
            pilot,
            tolerance,
            columns,
            kernel=kernel,
            log_inverse_alpha=level,
            seed=self._settings.seed,
            block=block,
            categories=self._kinds.categories,
        )
        return ruler, None if said is None else units

    def _parsed(self, columns: Sequence[str]) -> Tolerance | None:
        given = self._settings.tolerance
        return None if given is None else by_distance(parse(given, columns, *self._kinds))

    def _enough(self) -> int | None:
        """Samples (blocks) of each arm that find an arm twice the tolerance away; None without a tolerance."""
        if self._found is None or self._said is None:
            return None
        needed = self._found.needed(_TWICE * self._found.eps)
        return None if needed == math.inf else math.ceil(needed)

    def _expected_end(self) -> int:
        """When to leave arms without an end."""
        enough = self._enough()
        if enough is None:
            raise SettingsError(
                "these arms have no end, and the tolerance is too small to say when to stop; pass a larger tolerance=, "
                "or max_samples="
            )
        return enough

    # ------------------------------------------------------------ the answer

    def _answer(self, extent: Extent, started: float) -> OutliersResult:
        intake, found = self._intake, self._found
        n_arms, watched = len(intake), intake.watch
        odd = np.zeros(n_arms, dtype=np.bool_) if found is None else found.odd()
        log_e = np.full(n_arms, np.nan)
        if found is not None:
            log_e[extent.tested] = found.log_e[extent.tested]
        refuted = () if watched is None else watched.assumptions(intake.names, intake.columns, intake.types)
        drawn = dict(zip(intake.names, intake.drawn, strict=True))
        enough = self._enough()
        said = with_counts(intake.notes, intake.failures(self._sources.failures), drawn)
        notes = (*said, *self._notes)
        return OutliersResult(
            names=intake.names,
            status="doubtful" if refuted else self._status(odd, enough, extent),
            odd=odd,
            rest=self._rest,
            log_e_values=log_e,
            at_least=np.zeros(n_arms) if found is None else found.margins(odd),
            fdr=self._fdr,
            tolerance=None if self._said is None else self._said.words,
            units=self._units,
            samples_per_arm=drawn,
            n_enough=None if enough is None else enough * intake.block,
            seed=intake.seed,
            block=intake.block,
            not_measured={
                intake.names[arm]: f"fewer than {extent.pilot + _FEWEST} samples (blocks)"
                for arm in np.flatnonzero(~extent.tested).tolist()
            },
            assumptions=refuted,
            notes=notes,
            seconds=time.perf_counter() - started,
            columns=intake.columns,
            levels={column: dict(known) for column, known in intake.levels.items()},
            samples=intake.kept.by_name(intake.names),
        )

    def _status(self, odd: Mask, enough: int | None, extent: Extent) -> OutliersStatus:
        if odd.any():
            return "odd"
        if self._found is None:
            return "open"
        typical = float(np.median(np.array(self._intake.drawn)[extent.reference])) / self._intake.block
        if self._said is None:  # any arm that is as far away as can be would be found
            enough = math.ceil(self._found.needed(self._found.farthest))
        return "none" if enough is not None and typical >= enough else "open"
