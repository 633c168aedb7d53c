"""Self-tuning: what to do with a tensor in the next iteration, from the counts of its last completions.

The counts tell the share of the elements that are not zero, in whatever way the tensor was moved, and with it about
what any treatment would take; a treatment that ran tells by how much that was wrong. So a tensor that is left raw shows
by itself that it has become sparse, and only what the share does not tell has to be tried.

Decisions. A treatment that changes the tensor less is taken when its transfers are hidden as well, with a reserve, or
are no longer; one that changes it more when it saves enough. Either has to be so in several iterations in a row, which
keeps noise from flapping. As long as transfers are exposed, other zero-value codings are tried now and then, for one
iteration; one that does not pay is tried half as often the next time, and one that is known to be far worse not again.
Raw is known without, and what is lossy is never only tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from golden.codec import lines as zvc
from golden.codec.headers import HEADER_BYTES
from workload.plan.cycles import Timing
from workload.plan.treatments import Treatment, expected

__all__ = ["Controller", "Counts", "Settings"]

_RAREST = 16    # times as long as at first, at most, until a treatment is tried again
_NEAR = 10      # times the gain: what is known to lose more is not tried again
_EQUAL = 0.1    # times the gain: times that differ by less are equal


@dataclass(frozen=True)
class Settings:
    """How willing a controller is.

    Parameters
    ----------
    gain
        What a treatment that changes more has to save, as a share of the transfers' time when left raw.
    reserve
        What of the hidden time has to be left over by one that changes less.
    patience
        Iterations in a row in which that is so before it is done.
    period
        Iterations from a change or a trial to the next trial of the same treatment, at first.
    """

    gain: float = 0.01
    reserve: float = 0.05
    patience: int = 3
    period: int = 25

    def __post_init__(self) -> None:
        for name in ("gain", "reserve"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be 0 or more and below 1, not {getattr(self, name)}")
        for name in ("patience", "period"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 iteration or more, not {getattr(self, name)}")


@dataclass(frozen=True)
class Counts:
    """What the completions of an iteration say: of offload the bytes written, elements that are not zero, raw blocks
    and cycles, of prefetch the cycles."""

    bytes_written: float
    nonzero: float
    raw_blocks: float
    offload_cycles: float
    prefetch_cycles: float


@dataclass
class _Known:
    """What is known of a treatment: when to try it the next time, whether it ran, and the factors, there and back, by
    which its times differed from the rough ones."""

    wait: int
    due: int
    ran: bool = False
    offload: float = 1.0
    prefetch: float = 1.0


class Controller:
    """Decides for one tensor.

    Parameters
    ----------
    raw_bytes
        Of the tensor.
    options
        Treatments that are allowed, what changes least first.
    timing
        The engine.
    hidden
        Cycles that computing hides of each transfer.
    settings
        How willing it is.

    Members
    -------
    current
        Number of the treatment at work, in ``options``.
    switches, trials
        How often it changed, and how often another was tried.

    Raises
    ------
    ValueError
        If there is no treatment.
    """

    def __init__(self, raw_bytes: int, options: Sequence[Treatment], timing: Timing, hidden: float = 0.0,
                 settings: Settings | None = None) -> None:
        if not options:
            raise ValueError("there is no treatment to choose from")
        self.options = tuple(options)
        self.settings = settings or Settings()
        # Coded at first: that is safe, as blocks that do not shrink go raw.
        self.current = next((number for number, how in enumerate(options) if not how.leave_raw), 0)
        self.switches = self.trials = 0
        self._raw_bytes = raw_bytes
        self._timing = timing
        self._hidden = hidden
        self._known = [_Known(self.settings.period, self.settings.period) for _ in options]
        self._filled: dict[int, float] = {}
        self._proposal, self._agreed = self.current, 0
        self._iteration = 0
        self._now = self.current
        self._factors = 1.0, 1.0
        # What is left raw does not depend on the values.
        self._left_raw = {number: _exact(how, raw_bytes, timing) for number, how in enumerate(options) if how.leave_raw}
        self._enough = self.settings.gain * sum(_exact(Treatment(1, leave_raw=True), raw_bytes, timing))

    def next(self) -> Treatment:
        """How to move the tensor in the next iteration."""
        self._now = self._trial()
        return self.options[self._now]

    def done(self, counts: Counts) -> None:
        """Take the counts of the iteration, and decide."""
        self._iteration += 1
        self._learn(counts)
        exposed = [self._exposed(number, self._hidden) for number in range(len(self.options))]
        if self._now != self.current:
            self.trials += 1
            known = self._known[self._now]
            pays = exposed[self.current] - exposed[self._now] > self._enough
            known.wait = self.settings.period if pays else min(2 * known.wait, _RAREST * self.settings.period)
            known.due = self._iteration + known.wait
        proposal = self._better(exposed)
        if proposal != self._proposal:
            self._proposal, self._agreed = proposal, 0
        self._agreed += 1
        if proposal != self.current and self._agreed >= self.settings.patience:
            self.current = proposal
            self.switches += 1
            self._agreed = 0

    def _better(self, exposed: Sequence[float]) -> int:
        """The treatment that should be at work."""
        guarded = [self._exposed(number, self._hidden * (1 - self.settings.reserve))
                   for number in range(self.current + 1)]
        for number in range(self.current):
            if guarded[number] <= guarded[self.current] + _EQUAL * self._enough:
                return number
        for number in range(self.current + 1, len(self.options)):
            near = exposed[number] <= min(exposed) + self._enough
            if near and exposed[self.current] - exposed[number] > self._enough:
                return number
        return self.current

    def _trial(self) -> int:
        """The treatment to try in the next iteration; the one at work when there is none."""
        exposed = self._exposed(self.current, self._hidden)
        if exposed <= self._enough or not self._filled:
            return self.current
        due = [number for number, how in enumerate(self.options)
               if number != self.current and not how.lossy and not how.leave_raw
               and (known := self._known[number]).due <= self._iteration
               and not (known.ran and self._exposed(number, self._hidden) > exposed + _NEAR * self._enough)]
        return min(due, key=lambda number: self._known[number].due, default=self.current)

    def _learn(self, counts: Counts) -> None:
        """What an iteration tells of the tensor and of its treatment."""
        how, known = self.options[self._now], self._known[self._now]
        unit = _unit(how)
        filled = counts.nonzero * how.element_bytes * how.part / self._raw_bytes
        before = self._filled.get(unit, 0.0)
        # Counts in other elements drift as these do.
        drift = filled / before if before else 1.0
        self._filled = {other: min(1.0, share * drift) for other, share in self._filled.items()} | {unit: filled}
        offload, prefetch = self._rough(self._now)
        self._factors = counts.offload_cycles / offload, counts.prefetch_cycles / prefetch
        known.offload, known.prefetch = self._factors
        known.ran = True
        if self._now == self.current:
            known.due = self._iteration + known.wait

    def _exposed(self, number: int, hidden: float) -> float:
        """Cycles of both transfers, as far as it is known, that are not hidden."""
        offload, prefetch = self._rough(number)
        if number not in self._left_raw:
            known = self._known[number]
            factors = (known.offload, known.prefetch) if known.ran else self._factors
            offload, prefetch = offload * factors[0], prefetch * factors[1]
        return max(0.0, offload - hidden) + max(0.0, prefetch - hidden)

    def _rough(self, number: int) -> tuple[float, float]:
        """Cycles of both transfers when all blocks are filled alike."""
        if number in self._left_raw:
            return self._left_raw[number]
        how = self.options[number]
        filled = self._filled.get(_unit(how))
        if filled is None:
            filled = next(iter(self._filled.values()), 1.0)
        return self._timing.rough(self._raw_bytes, self._link_bytes(how, filled))

    def _link_bytes(self, how: Treatment, filled: float) -> float:
        coded = self._raw_bytes / how.part
        lines = coded / zvc.LINE_BYTES * zvc.TAG_BYTES[how.element_bytes] + filled * coded
        headers = HEADER_BYTES * -(-self._raw_bytes // self._timing.config.block_bytes)
        return (min(lines, coded) if how.fallback else lines) + headers


def _exact(how: Treatment, raw_bytes: int, timing: Timing) -> tuple[float, float]:
    """Cycles of both transfers of what is left raw."""
    blocks = expected(raw_bytes, 1.0, how, timing.config.block_bytes)
    return timing.offload(blocks), timing.prefetch(blocks)


def _unit(how: Treatment) -> int:
    """Bytes in memory of the elements that are counted: rounding keeps zeros, and makes few."""
    return how.element_bytes * how.part
