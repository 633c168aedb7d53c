"""Which steps verify a configuration: lint, the benches that its options call for, and its throughput."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import Any

from cdma.golden.engine import PAGE_SIZES
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.catalog import Design
from cdma.hdl.config.core import CoreConfig
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.register import Access
from cdma.hdl.engine.control.table import registers
from cdma.verif.engine.top import IMAGE_BYTES

__all__ = ["LINT", "THROUGHPUT", "Step", "image_bytes", "register_map", "steps"]

LINT, THROUGHPUT = "lint", "throughput"
"""Steps that are no bench."""

_DEPENDENT = ("RING_SIZE", "RING_TAIL", "RING_CONTROL", "WRITE_BACK_SIZE", "WRITE_BACK_HEAD", "WRITE_BACK_CONTROL")
"""Ends of names of registers whose legal values depend on each other: the tail must be in the ring."""


@dataclass(frozen=True)
class Step:
    """A step of the regression.

    Parameters
    ----------
    name
        Of the step.
    about
        What is checked, in a few words.
    bench
        Dotted name of the module with its cocotb tests; empty for a step that is no bench.
    share
        Part of the bench's stimuli that one run sends; every run has another seed.
    models
        Whether cocotbext-axi's memories are around the engine instead of this project's.
    job
        What the bench is told beside the configuration.
    """

    name: str
    about: str
    bench: str = ""
    share: float = 1.0
    models: bool = False
    job: Mapping[str, Any] = field(default_factory=dict)

    @property
    def repeats(self) -> bool:
        """Whether another seed gives other stimuli."""
        return bool(self.bench) and self.name != "registers"


def steps(config: Design) -> Sequence[Step]:
    """The steps for a configuration, in the order in which they run."""
    lint = Step(LINT, "Verilator's lint of the generated Verilog")
    if isinstance(config, EngineConfig):
        return [lint, *_engine(config), Step(THROUGHPUT, "raw bytes per cycle, sparse and dense, against the limit")]
    assert isinstance(config, CoreConfig | BlockCoreConfig)
    kind = "lines" if isinstance(config, CoreConfig) else "blocks"
    return [lint,
            Step(config.core, f"packets of {kind}: corners, random, damaged, stalls, resets",
                 f"cdma.verif.core.benches.{config.core}", 0.5),
            Step("bus_models", "cocotbext-axi's streams on the other side", "cdma.verif.core.benches.interoperate")]


def _engine(config: EngineConfig) -> list[Step]:
    lanes, windows = config.lanes, config.address_windows
    own_clock = config.link_clock == "separate"
    share, few = min(0.2, 0.4 / lanes), min(0.1, 1 / lanes)

    def ratio(link: float) -> dict[str, float]:
        return {"link_ratio": link} if own_clock else {}

    rows: list[tuple[bool, str, str, float, dict[str, Any]]] = [
        (True, "registers", "reset values, writable bits, holes of the register map", 1.0,
         {"map": register_map(config)}),
        (True, "transfers", "lengths, densities, queues, rings, both directions, counters", share, ratio(0.37)),
        (True, "faults", "refused descriptors, memory errors, damaged streams, aborts, resets", share, ratio(2.9)),
        (True, "timeouts", "ports that do not answer, then do", 0.3,
         {"image_bytes": _room(config, 1 << 17 + lanes.bit_length(), (4, 3 * lanes + 1), (6, 2 * lanes + 1))}
         | ratio(0.37)),
        (True, "malicious", "malformed streams of every kind, right ones between them", share,
         {"streams": 240} | ratio(1.37)),
        (windows, "windows", "address windows, inside and outside", few, {}),
        (config.page_lists, "page_lists", "streams in pages", 0.4 / lanes, {}),
        (config.page_lists and windows, "page_windows", "pages outside of the windows", 0.2, {}),
        (config.write_back, "write_back", "records in rings, coalesced interrupts", few, {}),
        (config.buffer_parity, "buffer_parity", "bits that flip in the lanes' buffers", 0.2, {}),
        (config.link_read_ids > 1, "link_reads", "reads at the link answered in any order", 0.2, {}),
        (own_clock, "link_clock", "unrelated clocks, resets of either side, a clock that stands", 0.4,
         {"image_bytes": _room(config, 1 << 19, (2, 8 * lanes))}),
    ]
    return [*(Step(name, about, f"cdma.verif.engine.benches.{name}", part, job=job)
              for wanted, name, about, part, job in rows if wanted),
            Step("bus_models", "transfers with cocotbext-axi's memories and registers",
                 "cdma.verif.engine.benches.transfers", share / 2, True,
                 {"image_bytes": _room(config, max(1 << 20, _paged(config)), (2 * config.queue_depth, 2), (1, 40))})]


def _room(config: EngineConfig, least: int, *tensors: tuple[int, int]) -> int:
    """Memory for any of these: so many tensors that a bench places together, each of so many blocks. Before each are a
    block that guards it and up to a round of lanes; those of many are counted up to four standard deviations."""
    lanes = config.lanes

    def gaps(count: int) -> int:
        return min(count * lanes, ceil(count * lanes / 2 + 4 * sqrt(count * lanes * (lanes + 2) / 12)))

    blocks = max(count * (size + 1) + gaps(count) + 1 for count, size in tensors)
    return _power(max(least, blocks * config.block_bytes))


def _paged(config: EngineConfig) -> int:
    """Memory for twice as many streams as a queue holds, each of two blocks and, on average, five of the smallest
    pages: half of the streams are in pages, some of which are larger, or spare."""
    return 2 * config.queue_depth * (2 * config.block_bytes + (5 << PAGE_SIZES[0])) if config.page_lists else 0


def _power(need: int) -> int:
    """The least power of two that is enough."""
    return 1 << (need - 1).bit_length()


def register_map(config: EngineConfig) -> dict[str, tuple[int, int, int]]:
    """Offset, reset value and freely writable bits of every register, by name."""
    return {register.name: (register.offset, register.reset,
                            0 if register.name.endswith(_DEPENDENT) else
                            sum(bits.mask for bits in register.fields if bits.access is Access.RW))
            for register in registers(config)}


def image_bytes(config: EngineConfig, full: bool = False) -> int:
    """Memory for twice as many tensors as a queue holds, each of two blocks and up to a round of lanes behind the last;
    for the 48 tensors of damaged streams, each of up to three blocks more than a round of lanes on average; and for
    streams in pages.

    ``full`` says that the tensors are as long as those of the full regression.
    """
    tensors = max(2 * config.queue_depth * (config.lanes + 4), 48 * (config.lanes + 3))
    need = max(tensors * config.block_bytes, _paged(config))
    # The tensors of a usual run are shorter. Dumps of the memories take half of the time of its simulations.
    least = IMAGE_BYTES if full else IMAGE_BYTES // (4 if config.lanes < 4 else 2)
    return max(least, _power(need))
