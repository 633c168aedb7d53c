"""The tables of memories in docs/integration.md and docs/options.md against the default engine."""

import re
from collections import Counter
from typing import Any

from amaranth.hdl import Fragment, Shape
from amaranth.lib import wiring
from amaranth.lib.memory import Memory

from cdma.hdl.common.modules import Modules
from cdma.hdl.common.sram import LEAST_BITS
from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.engine import Engine
from cdma.hdl.engine.lanes.offload import OffloadLane
from cdma.hdl.engine.lanes.prefetch import PrefetchLane
from tests.docs.pages import ROOT, table

_PAGE = ROOT / "docs/integration.md"


class _Memories(Modules):
    """Counts the memories of a design by rows, bits and parts of a row; those of a lane once."""

    def __init__(self, design: wiring.Component) -> None:
        super().__init__("counted")
        self.found: Counter[tuple[int, int, int]] = Counter()
        Fragment.get(design, self)

    def get_memory(self, memory: Memory) -> Any:
        """What is built for a memory; Amaranth calls this method by its name."""
        (write,), width = memory.write_ports, Shape.cast(memory.shape).width
        if memory.depth * width >= LEAST_BITS:
            self.found[memory.depth, width, len(write.en)] += 1
        return memory.elaborate(None)


def test_memories_are_those_of_the_table() -> None:
    config = load_engine("engine")
    lane = _Memories(OffloadLane(config)).found + _Memories(PrefetchLane(config)).found
    documented: dict[bool, Counter[tuple[int, int, int]]] = {True: Counter(), False: Counter()}
    for _, size, parts, number, _ in table(_PAGE, "memory"):
        rows, bits = map(int, size.split(" x "))
        documented[number.endswith(" a lane")][rows, bits, int(parts)] += int(number.split()[0])
    assert documented == {True: lane, False: _Memories(Engine(config)).found - lane}
    sizes = {row[0]: row[1] for row in table(_PAGE, "memory of `engine`")}
    assert {tuple(map(int, size.split(" x "))) for size in sizes.values()} <= {
        each[:2] for each in documented[True] + documented[False]}


def test_rows_with_parity_are_those_of_the_table() -> None:
    config = load_engine("engine").replace(buffer_parity=True, safe_writes=True)
    lane = _Memories(OffloadLane(config)).found + _Memories(PrefetchLane(config)).found
    rows = table(ROOT / "docs/options.md", "memories")
    documented = {int(bits) for row in rows for bits in re.findall(r"\d+", row[2])}
    assert documented == {bits for _, bits, _ in lane}
