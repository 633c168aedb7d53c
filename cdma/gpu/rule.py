"""Which tensors go compressed, which as they are, and which stay: the rule of CSwap+, by times measured while it runs.

A tensor is compressed where encoding, both copies of the packed bytes, and decoding take less than both copies of the
raw bytes. It stays where keeping it is cheaper than that: where the copies of a step take longer than its computing, so
that nothing hides them, and where the budget of device memory has room; those that compress least stay first. Where
computing hides the copies anyway, tensors go as they are, because coding would take the time of the SMs for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["POLICIES", "Rule"]

POLICIES = ("packed", "plain", "stays")
"""What becomes of a tensor: it goes compressed, goes as it is, or stays on the device."""

_FIRST = 2
_AGAIN = 64
_WEIGHT = 0.25
"""Of a new measurement in a running mean: a rate that drifts is followed within a step or two."""


@dataclass
class Rule:
    """Rates, ratios, and the choice that follows from them.

    Parameters
    ----------
    always
        One of :data:`POLICIES` for all tensors; None: by the rule.
    budget
        Bytes of device memory for tensors that stay.
    rates
        Bytes a second: raw ones of ``encode`` and ``decode``, and those of the copies ``out`` and ``back``.
    ratios
        Raw by packed bytes of the tensors of a kind, which are alike from step to step.
    excess
        Raw bytes of a step that must not cross the link for computing to hide all copies; None: not yet known.
    """

    always: str | None = None
    budget: int = 0
    rates: dict[str, float] = field(default_factory=dict)
    ratios: dict[Any, float] = field(default_factory=dict)
    excess: float | None = None
    _own: dict[tuple[str, Any], float] = field(default_factory=dict)
    _seen: dict[Any, int] = field(default_factory=dict)
    _taken: dict[Any, int] = field(default_factory=dict)
    _spared: float = 0.0
    _computed: dict[str, float] = field(default_factory=dict)
    _steps: int = 0
    _stays: dict[Any, int] = field(default_factory=dict)
    _may_stay: dict[Any, int] = field(default_factory=dict)

    def choose(self, kind: Any, size: int, room: int = 0) -> str:
        """What becomes of the next tensor of a kind, where ``room`` bytes of the budget are left. The first ones are
        compressed, and later one in many, to measure."""
        if self.always is not None:
            return self.always
        seen = self._seen[kind] = self._seen.get(kind, 0) + 1
        self._taken[kind] = self._taken.get(kind, 0) + size
        if seen <= _FIRST or seen % _AGAIN == 0 or not self._known:
            return "packed"
        if self.excess is not None and self._spared >= self.excess:
            return "plain"
        ratio = self._ratio(kind)
        if size <= min(room, self._may_stay.get(kind, 0)):
            self._may_stay[kind] -= size
            self._spared += size
            return "stays"
        if self.seconds(kind, size, size / ratio) < self.seconds(kind, size):
            self._spared += size - size / ratio
            return "packed"
        return "plain"

    def seconds(self, kind: Any, raw: float, packed: float | None = None) -> float:
        """Time of both ways, of a tensor that is compressed to so many bytes, or for None goes plain."""
        link = 1 / self.rates["out"] + 1 / self.rates["back"]
        if packed is None:
            return raw * link
        return packed * link + raw * sum(1 / self._own.get((what, kind), self.rates[what])
                                         for what in ("encode", "decode"))

    def measured(self, what: str, kind: Any, size: int, seconds: float) -> None:
        """Take a time: of one of the rates, or of computing before a tensor was saved (``forward``) or needed
        (``backward``)."""
        if what in ("forward", "backward"):
            self._computed[what] = self._computed.get(what, 0.0) + seconds
        elif size and seconds > 0:
            self.rates[what] = _rate(self.rates.get(what), size / seconds)
        if size and seconds > 0:
            self._own[what, kind] = _rate(self._own.get((what, kind)), size / seconds)

    def packed(self, kind: Any, raw: int, packed: int) -> None:
        """Take the length of a stream."""
        self.ratios[kind] = _mean(self.ratios.get(kind), raw / packed)

    def turn(self) -> dict[Any, int]:
        """A step has ended: the bytes of each kind that it took, for :meth:`step` when its times are there."""
        taken, self._taken, self._spared, self._may_stay = self._taken, {}, 0.0, dict(self._stays)
        return taken

    def step(self, taken: dict[Any, int]) -> None:
        """Take the times of a step; those of the first do not count, in which kernels are compiled."""
        computed, self._computed = self._computed, {}
        self._steps += 1
        if self._steps == 1 or not taken or not self._known:
            return
        raw = sum(taken.values())
        hidden = min(computed.get(way, 0.0) * self.rates[copy]
                     for way, copy in (("forward", "out"), ("backward", "back")))
        self.excess = _mean(self.excess, max(raw - hidden, 0.0))
        room, self._stays = self.budget, {}
        for kind in sorted(taken, key=self._ratio):
            self._stays[kind] = min(taken[kind], room)
            room -= self._stays[kind]

    def kinds(self) -> list[dict[str, Any]]:
        """The price of each kind of tensors: seconds of both ways ``plain`` and ``packed``, and of making it
        ``again``."""
        found = []
        for kind in self.ratios if self._known else ():
            (dtype, size), ratio = kind, self._ratio(kind)
            seconds = {"plain": self.seconds(kind, size), "packed": self.seconds(kind, size, size / ratio)}
            if ("forward", kind) in self._own:
                seconds["again"] = size / self._own["forward", kind]
            found.append({"dtype": dtype, "bytes": size, "ratio": ratio, "seconds": seconds,
                          "cheapest": min(seconds, key=seconds.__getitem__)})
        return found

    @property
    def _known(self) -> bool:
        return {"encode", "decode", "out", "back"} <= self.rates.keys()

    def _ratio(self, kind: Any) -> float:
        return self.ratios.get(kind, 1.0)


def _mean(old: float | None, new: float) -> float:
    return new if old is None else old + _WEIGHT * (new - old)


def _rate(old: float | None, new: float) -> float:
    """One that is much higher counts at once: what was measured before had kernels that were compiled in it."""
    return new if old is None or new > 2 * old else _mean(old, new)
