"""The two suites: tests of both cores, and tests of an engine."""

from __future__ import annotations

import enum

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.selftest.config import CoresTestConfig, EngineTestConfig, SelftestConfig
from cdma.hdl.selftest.engine_trial import ENGINE_ITEMS, FLIPPED, EngineTrial
from cdma.hdl.selftest.pattern import PLACES
from cdma.hdl.selftest.source import DUMP, ITEMS
from cdma.hdl.selftest.suite import Suite, Texts
from cdma.hdl.selftest.text import Number
from cdma.hdl.selftest.trial import Trial

__all__ = ["CoresSuite", "EngineSuite", "suite_of"]

_SPARE_BITS = 10
"""A ratio is printed in thousandths: bits that numbers have more for it."""


class _OfCores(enum.IntEnum):
    DENSITY = 0
    RAW = 1
    PACKED = 2
    RATIO = 3
    RATE = 4


class _OfEngine(enum.IntEnum):
    DENSITY = 0
    RAW = 1
    PACKED = 2
    RATIO = 3
    OFFLOAD = 4
    PREFETCH = 5
    PLACE = 6
    STATUS = 7
    STEP = 8
    SEEN = 9
    WANTED = 10


class CoresSuite(Suite):
    """Both cores: a group for each element size, with data of every density and the dump.

    ::

        group, item --> trial --> passed, raw and packed bytes, cycles --> dividends, divisors

    Parameters
    ----------
    config : CoresTestConfig
        What to build.
    lines : bytes
        The lines of the dump.
    """

    def __init__(self, config: CoresTestConfig, lines: bytes):
        self._config = config
        self._trial = Trial(config, lines)
        counts = [" raw ", Number(_OfCores.RAW), " packed ", Number(_OfCores.PACKED), " ratio ",
                  Number(_OfCores.RATIO, True), " raw beats/cycle ", Number(_OfCores.RATE, True)]
        super().__init__(
            Texts(f"beats of {config.beat_bytes} bytes", tuple(f"{bits} bit" for bits in config.element_bits),
                  ([" density ", Number(_OfCores.DENSITY), "/8", *counts], [" dump", *counts])),
            ITEMS, len(_OfCores), len(self._trial.raw) + _SPARE_BITS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.trial = trial = self._trial
        thousand_raw = _thousand_times(trial.raw)
        m.d.comb += [
            trial.start.eq(self.start), trial.item.eq(self.item), trial.fault.eq(self.fault),
            trial.element.eq(Array(self._config.element_bytes)[self.group]),
            self.done.eq(trial.done), self.passed.eq(trial.passed), self.line.eq(self.item == DUMP),
            *self._quotients({
                _OfCores.DENSITY: (self.item, 1),
                _OfCores.RAW: (trial.raw, 1),
                _OfCores.PACKED: (trial.packed, 1),
                _OfCores.RATIO: (thousand_raw, trial.packed),
                _OfCores.RATE: (thousand_raw[exact_log2(self._config.beat_bytes):], trial.cycles),
            }),
        ]
        return m


class EngineSuite(Suite):
    """An engine: a group for each coding, with data of every density, the dump, and flipped bits.

    ::

        group, item --> trial --> passed, bytes, cycles, failed step --> dividends, divisors

    Parameters
    ----------
    config : EngineTestConfig
        What to build.
    lines : bytes
        The lines of the dump.
    """

    def __init__(self, config: EngineTestConfig, lines: bytes):
        self._trial = EngineTrial(config, lines)
        counts = [" raw ", Number(_OfEngine.RAW), " packed ", Number(_OfEngine.PACKED), " ratio ",
                  Number(_OfEngine.RATIO, True), " offload ", Number(_OfEngine.OFFLOAD), " prefetch ",
                  Number(_OfEngine.PREFETCH), " cycles"]
        lanes = f"{config.lanes} lane{'s' if config.lanes > 1 else ''}"
        super().__init__(
            Texts(f"engine, {lanes} of {config.beat_bytes} bytes", config.codings,
                  ([" density ", Number(_OfEngine.DENSITY), "/8", *counts], [" dump", *counts],
                   [" flipped byte ", Number(_OfEngine.PLACE), " status ", Number(_OfEngine.STATUS)]),
                  [" in step ", Number(_OfEngine.STEP), ": ", Number(_OfEngine.SEEN), " instead of ",
                   Number(_OfEngine.WANTED)]),
            ENGINE_ITEMS, len(_OfEngine), 32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.trial = trial = self._trial
        flipped = Signal()
        m.d.comb += [
            flipped.eq(self.item >= FLIPPED),
            trial.start.eq(self.start), trial.item.eq(self.item), trial.fault.eq(self.fault),
            trial.coding.eq(self.group),
            self.done.eq(trial.done), self.passed.eq(trial.passed),
            self.line.eq(Mux(flipped, 2, self.item == DUMP)),
            *self._quotients({
                _OfEngine.DENSITY: (self.item, 1),
                _OfEngine.RAW: (trial.raw, 1),
                _OfEngine.PACKED: (trial.packed, 1),
                _OfEngine.RATIO: (_thousand_times(trial.raw), trial.packed),
                _OfEngine.OFFLOAD: (trial.offload_cycles, 1),
                _OfEngine.PREFETCH: (trial.prefetch_cycles, 1),
                _OfEngine.PLACE: (Array(PLACES)[self.item == FLIPPED + 1], 1),
                _OfEngine.STATUS: (trial.status, 1),
                _OfEngine.STEP: (trial.step, 1),
                _OfEngine.SEEN: (trial.seen, 1),
                _OfEngine.WANTED: (trial.wanted, 1),
            }),
        ]
        return m


def _thousand_times(value: Value) -> Value:
    """1000 times the value, as 1024 - 16 - 8."""
    return (value << 10) - (value << 4) - (value << 3)


def suite_of(config: SelftestConfig, lines: bytes) -> Suite:
    """The suite of a configuration."""
    if isinstance(config, EngineTestConfig):
        return EngineSuite(config, lines)
    assert isinstance(config, CoresTestConfig)
    return CoresSuite(config, lines)
