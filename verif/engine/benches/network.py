"""Arrays as a training step moves them: offloaded in order, prefetched in reverse; reported, not judged.

The link's beats of each direction are compared with their number and toggles as the streams give them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np

from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Completion, Descriptor, Operation, Status
from cdma.verif.common import job
from cdma.verif.common.stream import Bytes
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.stimulus import RawTensor
from cdma.verif.engine.testbench import EngineTestbench, ready
from cdma.verif.engine.toggles import bus_beats, toggles

Row = dict[str, Any]


@cocotb.test()
async def network(dut: Any) -> None:
    """Report cycles, counts and the first difference of every array; faults that belong to none go to the first."""
    asked = job.load()
    bench = await ready(dut)
    bench.page_share = 0
    how = Behaviour(**asked["behaviour"])
    await bench.behave(how, replace(how, bandwidth=how.bandwidth * asked["link_share"]))
    tensors = [RawTensor(np.load(move["file"]), Coding(move["coding"]), move["narrow"]) for move in asked["moves"]]
    flags = [{"fallback": move["fallback"], "leave_raw": move["leave_raw"]} for move in asked["moves"]]
    rows: list[Row] = [{"offload_cycles": 0, "prefetch_cycles": 0, "raw_blocks": 0, "difference": None}
                       for _ in tensors]
    offloads = [bench.offload(tensor, **how) for tensor, how in zip(tensors, flags, strict=True)]
    await bench.load()
    streams = [bench.stream(tensor, **how) for tensor, how in zip(tensors, flags, strict=True)]
    busy = dict.fromkeys(Operation, 0)
    try:
        await bench.link.clear()
        for row, completion in zip(rows, await _move(bench, offloads, rows, 0, asked["row"]), strict=True):
            row |= {"offload_cycles": completion.cycles, "raw_blocks": completion.raw_blocks}
        written = await bench.link.traffic()
        await _compare(bench, offloads, rows)
        _beats(bench, "written", (written.write_beats, written.write_toggles), streams)
        bench.device_arena.image[:] = bench.rng.integers(0, 256, bench.device_arena.size, dtype=np.uint8)
        await bench.device.load(bench.device_arena.image)
        prefetches = [bench.prefetch(stream, tensor, source=offload.destination, destination=offload.source)
                      for tensor, stream, offload in zip(tensors, streams, offloads, strict=True)]
        await bench.link.clear()
        completions = await _move(bench, prefetches[::-1], rows[::-1], len(rows), asked["row"])
        for row, completion in zip(rows[::-1], completions, strict=True):
            row["prefetch_cycles"] = completion.cycles
        read = await bench.link.traffic()
        await _compare(bench, prefetches, rows)
        # Whole beats are read, so bytes after the end of a stream pass too.
        width = bench.config.link_beat_bytes
        _beats(bench, "read", (read.read_beats, read.read_toggles), [
            bench.link_arena.view(offload.destination, -(-stream.size // width) * width)
            for offload, stream in zip(offloads[::-1], streams[::-1], strict=True)])
        for operation, channel in bench.control.channels.items():
            busy[operation] = (await channel.counters())["BUSY_CYCLES"]
        await bench.counters()
    except AssertionError as error:
        bench.scoreboard.fault(str(error))
    if bench.scoreboard.differences and not any(row["difference"] for row in rows):
        _note(rows[0], bench.scoreboard.differences[0])
    job.report({"arrays": rows, "offload_cycles": busy[Operation.OFFLOAD],
                "prefetch_cycles": busy[Operation.PREFETCH]})


def _note(row: Row, difference: str | None) -> None:
    """Keep the first difference."""
    row["difference"] = row["difference"] or difference


async def _move(bench: EngineTestbench, descriptors: list[Descriptor], rows: list[Row], done: int,
                queued: bool) -> list[Completion]:
    """Run descriptors, and note the difference of each completion.

    Unless they are queued, each has the engine for itself, so that its cycles are those that a plan predicts.
    """
    channel = bench.control.channels[Operation(descriptors[0].operation)]
    feeder = cocotb.start_soon(channel.feed(descriptors if queued else []))
    found = []
    for descriptor, row in zip(descriptors, rows, strict=True):
        job.progress(done + len(found))
        if not queued:
            await channel.push(descriptor)
        found.append(await channel.completion(bench.patience(descriptor)))
        _note(row, bench.scoreboard.judge(descriptor, found[-1]))
        if found[-1].status is not Status.OK:
            _note(row, f"ended with {found[-1].status.name}")
    await feeder
    return found


def _beats(bench: EngineTestbench, what: str, seen: tuple[int, int], pieces: list[Bytes]) -> None:
    """Note a fault when other beats than those of the byte strings passed the link, or other bits toggled."""
    beats = bus_beats(pieces, bench.config.link_beat_bytes)
    if seen != (wanted := (len(beats), toggles(beats))) and not bench.scoreboard.differences:
        bench.scoreboard.fault(f"link: {seen[0]} beats with {seen[1]} toggles were {what}, not {wanted[0]} with "
                               f"{wanted[1]}")


async def _compare(bench: EngineTestbench, descriptors: list[Descriptor], rows: list[Row]) -> None:
    """Compare both memories; a byte that differs goes to the array whose destination it is in."""
    for memory, arena in ((bench.device, bench.device_arena), (bench.link, bench.link_arena)):
        expected, seen = arena.image.copy(), await memory.dump()
        difference = bench.scoreboard.compare(memory.name, arena, seen)
        if difference is None:
            continue
        for descriptor, row in zip(descriptors, rows, strict=True):
            at = descriptor.destination - arena.base
            wrong = np.flatnonzero(expected[at:at + descriptor.capacity] != seen[at:at + descriptor.capacity])
            if 0 <= at < arena.size and wrong.size:
                _note(row, f"{'stream' if descriptor.packed_bytes == 0 else 'tensor'} byte {int(wrong[0])} is "
                         f"{seen[at + wrong[0]]:#04x}, not {expected[at + wrong[0]]:#04x}")
    for memory in (bench.device, bench.link):
        for sentence in await memory.broken():
            bench.scoreboard.fault(sentence)
