"""Which tensors are compressed: the rule of CSwap+, by rates that are measured while it runs.

Compressing pays where encoding, both copies of the packed bytes, and decoding take less than both copies of the raw
bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Rule"]

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
        ``packed`` or ``plain`` for all tensors; None: by the rule.
    rates
        Bytes a second: raw ones of ``encode`` and ``decode``, and those of the copies ``out`` and ``back``.
    ratios
        Raw by packed bytes of the tensors of a kind, which are alike from step to step.
    """

    always: str | None = None
    rates: dict[str, float] = field(default_factory=dict)
    ratios: dict[Any, float] = field(default_factory=dict)
    _seen: dict[Any, int] = field(default_factory=dict)

    def packs(self, kind: Any, size: int) -> bool:
        """Whether the next tensor of a kind is compressed; the first ones are, and later one in many, to measure."""
        if self.always is not None:
            return self.always == "packed"
        seen = self._seen[kind] = self._seen.get(kind, 0) + 1
        if seen <= _FIRST or seen % _AGAIN == 0 or not {"encode", "decode", "out", "back"} <= self.rates.keys():
            return True
        return self.seconds(size, size / self.ratios.get(kind, 1.0)) < self.seconds(size)

    def seconds(self, raw: float, packed: float | None = None) -> float:
        """Time of both ways, of a tensor that is compressed to so many bytes, or for None goes plain."""
        link = 1 / self.rates["out"] + 1 / self.rates["back"]
        if packed is None:
            return raw * link
        return packed * link + raw * (1 / self.rates["encode"] + 1 / self.rates["decode"])

    def measured(self, what: str, size: int, seconds: float) -> None:
        """Take a time of one of the rates."""
        if size and seconds > 0:
            self.rates[what] = _mean(self.rates.get(what), size / seconds)

    def packed(self, kind: Any, raw: int, packed: int) -> None:
        """Take the length of a stream."""
        self.ratios[kind] = _mean(self.ratios.get(kind), raw / packed)


def _mean(old: float | None, new: float) -> float:
    return new if old is None else old + _WEIGHT * (new - old)
