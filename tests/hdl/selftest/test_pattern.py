"""The pattern in the memories of the engine's self-test: what is filled in, flipped, and found wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cdma.hdl.selftest.config import EngineTestConfig
from cdma.hdl.selftest.pattern import PLACES, Pattern
from cdma.hdl.selftest.program import Action
from cdma.hdl.selftest.source import DUMP
from tests.hdl.bench import clocked
from tests.hdl.selftest.reference import generated, sparse

_LINES = sparse(np.random.default_rng(6), 640)
_RAW = 2048
_KINDS = {1: np.uint8, 2: np.uint16, 4: np.uint32}


class _Memories:
    """The memories behind the pattern's ports."""

    def __init__(self, dut: Pattern, lanes: int, beat_bytes: int):
        self._n = beat_bytes
        self.ports = {name: getattr(dut, name) for name in (*(f"device{lane}" for lane in range(lanes)), "link")}
        self.rows: dict[str, dict[int, bytearray]] = {name: {} for name in self.ports}
        self._lanes = lanes

    async def serve(self, ctx: Any) -> None:
        while True:
            found = {name: [ctx.get(getattr(port, part)) for part in ("use", "row", "write", "write_data")]
                     for name, port in self.ports.items()}
            await ctx.tick()
            for name, (use, row, write, data) in found.items():
                if not use:
                    continue
                held = self.rows[name].setdefault(row, bytearray(self._n))
                ctx.set(self.ports[name].read_data, int.from_bytes(held, "little"))
                for byte in range(self._n):
                    if write >> byte & 1:
                        held[byte] = data >> 8 * byte & 255

    def device(self, place: int, size: int, block_bytes: int) -> bytes:
        """Bytes of device memory from a place on, gathered from the lanes."""
        result = bytearray()
        for at in range(place, place + size, self._n):
            block, inside = divmod(at, block_bytes)
            row = (block // self._lanes * block_bytes + inside) // self._n
            result += self.rows[f"device{block % self._lanes}"][row]
        return bytes(result)

    def change(self, place: int, block_bytes: int) -> None:
        """Flips a bit of a byte of device memory."""
        block, inside = divmod(place, block_bytes)
        row = (block // self._lanes * block_bytes + inside) // self._n
        self.rows[f"device{block % self._lanes}"][row][place % self._n] ^= 16

    def link(self, size: int) -> bytes:
        """The first bytes of link memory."""
        return b"".join(self.rows["link"][row] for row in range(size // self._n))


@pytest.mark.parametrize(("lanes", "beat_bytes", "element", "item", "floats", "length"), [
    (1, 16, 4, 4, 0, 2048), (1, 16, 2, 5, 1, 1400), (2, 16, 1, 3, 0, 524), (4, 32, 4, 8, 1, 2044),
    (2, 16, 4, DUMP, 0, 640)])
def test_what_is_filled_in_is_compared(lanes: int, beat_bytes: int, element: int, item: int, floats: int,
                                       length: int) -> None:
    config = EngineTestConfig(lanes=lanes, beat_bytes=beat_bytes, block_bytes=512, raw_bytes=_RAW)
    dut = Pattern(config, _LINES)
    memories = _Memories(dut, lanes, beat_bytes)
    data = _LINES if item == DUMP else generated(beat_bytes, element, item, _RAW, floats=bool(floats))
    inverse = bytes(255 - byte for byte in data)

    async def do(ctx: Any, action: Action, **inputs: int) -> int:
        for name, value in inputs.items():
            ctx.set(getattr(dut, name), value)
        ctx.set(dut.action, action)
        ctx.set(dut.go, 1)
        await ctx.tick()
        ctx.set(dut.go, 0)
        wrong, = await ctx.tick().sample(dut.wrong).until(dut.done)
        return wrong

    async def process(ctx: Any) -> None:
        await do(ctx, Action.FILL, item=item, element=element, floats=floats, raw_bytes=length)
        await ctx.tick().repeat(2)
        assert ctx.get(dut.nonzero) == np.count_nonzero(np.frombuffer(data[:length], _KINDS[element]))
        assert memories.device(0, len(data), 512) == data
        assert memories.device(_RAW, len(data), 512) == inverse
        assert memories.link(len(data)) == inverse
        for place, byte in enumerate(PLACES):
            await do(ctx, Action.FLIP, place=place)
            flipped = bytearray(memories.link(len(data)))
            assert flipped[byte] == inverse[byte] ^ 1
            await do(ctx, Action.FLIP, place=place)
            assert memories.link(len(data)) == inverse
        # Nothing has been written yet: all of the tensor is wrong, and what is behind it is right.
        assert await do(ctx, Action.COMPARE, outside=0) == -(-length // beat_bytes)
        assert await do(ctx, Action.COMPARE, outside=1) == 0
        for byte in range(length):
            if data[byte] != inverse[byte]:
                block, inside = divmod(_RAW + byte, 512)
                row = (block // lanes * 512 + inside) // beat_bytes
                memories.rows[f"device{block % lanes}"][row][byte % beat_bytes] = data[byte]
        assert await do(ctx, Action.COMPARE, outside=0) == 0
        for byte in {0, length // 2, length - 1}:
            memories.change(_RAW + byte, 512)
            assert await do(ctx, Action.COMPARE, outside=0) == 1
            assert await do(ctx, Action.COMPARE, outside=1) == 0
            memories.change(_RAW + byte, 512)
        if length < len(data):
            memories.change(_RAW + length, 512)
            assert await do(ctx, Action.COMPARE, outside=0) == 1
            assert await do(ctx, Action.COMPARE, outside=1) == 1

    clocked(dut, process, memories.serve)
