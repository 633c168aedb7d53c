"""Tensors there and back: lengths, densities, directions, queues, rings, interrupts, counters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np

from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Operation
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.verif.common.tensors import corners, random_values
from cdma.verif.engine.control import Channel, enabled
from cdma.verif.engine.lite import refused
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.stimulus import BEHAVIOURS, RawTensor, codings, edges, random_behaviour, random_tensor
from cdma.verif.engine.testbench import EngineTestbench, ready, share

_LANE_ATTRIBUTES, _LINK_ATTRIBUTES = 0x38, 0x3C
_MODIFIABLE, _ALLOCATE = 0b0010, 0b1100     # bits of AxCACHE; without the first one the others must be 0 (AXI4, A4.4)


@cocotb.test()
async def lengths_around_edges(dut: Any) -> None:
    """One element, and everything around where beats, lines, pages, blocks and rounds of lanes end."""
    bench = await ready(dut)
    for coding in codings(bench.config):
        lengths = edges(bench.config, coding.element_bytes)
        picked = bench.rng.choice(lengths, share(len(lengths)), replace=False).tolist()
        await bench.behave(random_behaviour(bench.rng))
        await bench.there_and_back([random_tensor(bench.rng, bench.config, length, coding)
                                    for length in {coding.element_bytes, *picked}])
    await bench.counters()
    bench.scoreboard.check()


@cocotb.test()
async def random_tensors(dut: Any) -> None:
    """Lengths, densities and codings at random, with every behaviour of the memories."""
    bench = await ready(dut)
    for device in BEHAVIOURS[:share(len(BEHAVIOURS))]:
        await bench.behave(device, random_behaviour(bench.rng))
        await bench.there_and_back([random_tensor(bench.rng, bench.config) for _ in range(share(24))])


@cocotb.test()
async def long_tensors(dut: Any) -> None:
    """Tensors of up to 1 MiB with enough blocks for their sequence numbers to wrap around."""
    bench = await ready(dut)
    for length in {min(share(1 << 20), longest) for longest in (260 * bench.config.block_bytes, 1 << 20)}:
        coding = Coding(int(bench.rng.choice(bench.config.numbers)))
        length -= length % 4 + coding.element_bytes * int(bench.rng.integers(3))
        await bench.there_and_back([random_tensor(bench.rng, bench.config, length, coding)])


@cocotb.test()
async def a_link_that_answers_late(dut: Any) -> None:
    """A stream that is longer than all bursts that may be open at the link, whose responses come late."""
    bench = await ready(dut)
    await bench.behave(Behaviour(), Behaviour(latency=2000))
    config = bench.config
    burst = config.link_beat_bytes * burst_beats(config.link_beat_bytes, config.burst_beats)
    dense = bench.rng.integers(1, 256, min(12 << 12, 2 * config.outstanding_link_writes * burst), dtype=np.uint8)
    await bench.there_and_back([RawTensor(dense, codings(config)[0])])


@cocotb.test()
async def blocks_of_every_kind(dut: Any) -> None:
    """Streams of blocks that are all coded, all zero or all raw: one block, whole and short, and several. Lines with
    one element, and with all but one."""
    bench = await ready(dut)
    size = bench.config.block_bytes
    await bench.behave(Behaviour())
    for coding in codings(bench.config):
        made = []
        for filled in (0.0, 0.2, 1.0):
            for length in (size, size // 2, 3 * size, 5 * size // 2):
                raw = bench.rng.integers(1, 256, length, dtype=np.uint8)
                raw.reshape(-1, coding.element_bytes)[bench.rng.random(length // coding.element_bytes) >= filled] = 0
                made.append(RawTensor(raw, coding))
        elements = LINE_BYTES // coding.element_bytes
        one = np.arange(elements) == bench.rng.integers(elements)
        made += [RawTensor(np.repeat(line, coding.element_bytes).astype(np.uint8), coding) for line in (one, ~one)]
        await bench.there_and_back(made)
    await bench.counters()


@cocotb.test()
async def one_slow_memory(dut: Any) -> None:
    """A memory controller that is far slower than the others delays transfers, and causes no error."""
    bench = await ready(dut)
    for _ in range(share(3)):
        await bench.behave(Behaviour())
        await bench.device.behave(Behaviour(latency=200, stalls=0.9, longest=64),
                                  port=int(bench.rng.integers(bench.config.lanes)))
        await bench.there_and_back([random_tensor(bench.rng, bench.config, 40 * bench.config.block_bytes)])
    counted = await bench.counters()
    bench.scoreboard.check()
    for operation, seen in counted.items():
        # With whole bursts kept, all that a lane writes may fit its buffer.
        if operation is Operation.OFFLOAD or not bench.config.safe_writes:
            assert seen["MEMORY_STALLS"], f"{operation.name.lower()}: no lane waited for the slow memory"


@cocotb.test()
async def both_directions(dut: Any) -> None:
    """Offload and prefetch of different tensors at the same time, with and without the raw fallback."""
    bench = await ready(dut)
    for _ in range(share(6)):
        bench.clear()
        await bench.behave(random_behaviour(bench.rng), random_behaviour(bench.rng))
        await _both(bench, share(12))


async def _both(bench: EngineTestbench, count: int, **how: Any) -> None:
    """Descriptors of both directions in random order."""
    descriptors = []
    for _ in range(count):
        tensor = random_tensor(bench.rng, bench.config)
        fallback = bool(bench.rng.random() < 0.7)
        leave_raw = bool(fallback and bench.rng.random() < 0.2)
        descriptors.append(bench.offload(tensor, fallback=fallback, leave_raw=leave_raw))
        descriptors.append(bench.prefetch(bench.stream(tensor, fallback, leave_raw), tensor))
    bench.rng.shuffle(descriptors)
    await bench.load()
    await bench.run(descriptors, **how)
    await bench.compare()
    await bench.counters()
    bench.scoreboard.check()


@cocotb.test()
async def rings(dut: Any) -> None:
    """Descriptors from rings in link memory, around their ends, of both directions at the same time."""
    bench = await ready(dut)
    for entries in (2, 8, 16):
        bench.clear()
        await bench.behave(random_behaviour(bench.rng))
        both = bench.rings(entries)
        async with enabled(*both.values()):
            await _both(bench, share(14), rings=both)


@cocotb.test()
async def queues_full(dut: Any) -> None:
    """Completions that nobody takes stop a direction, and nothing is lost; a full queue refuses descriptors."""
    bench = await ready(dut)
    depth = bench.config.queue_depth
    for operation, channel in bench.control.channels.items():
        bench.clear()
        tensors = [random_tensor(bench.rng, bench.config, 2 * bench.config.block_bytes) for _ in range(2 * depth)]
        descriptors = [bench.move(operation, each) for each in tensors]
        await bench.load()
        for descriptor in descriptors[:depth]:
            await channel.push(descriptor)

        await channel.feed(descriptors[depth:depth + 1])
        patience = sum(bench.patience(descriptor) for descriptor in descriptors[:depth])
        assert await bench.control.sets("STATUS", f"{channel.prefix}_BLOCKED", patience), \
            "a full completion queue does not show"
        await channel.feed(descriptors[depth + 1:])
        assert (await channel.fields("QUEUE"))["FREE"] == 0
        await refused(channel.push(descriptors[0]), "the doorbell of a full queue")
        await _refused(channel, "DOORBELL")
        assert (await channel.fields("COMPLETIONS"))["COUNT"] == depth
        for descriptor in descriptors:
            await bench.completed(descriptor)
        assert (await channel.fields("QUEUE"))["FREE"] == depth
        await refused(channel.write("COMPLETION_POP", 1), "to pop an empty completion queue")
        await _refused(channel, "COMPLETION_POP")
        await _refused_part(bench)
        first, second = await channel.counters(), await channel.counters()
        assert all(first[name] == second[name] for name in ("RAW_BYTES", "PACKED_BYTES")), "a snapshot changed counters"
        await bench.compare()


async def _refused(channel: Channel, name: str) -> None:
    """Check that the channel says what it refused, and clear that."""
    fields = await channel.fields("REFUSED")
    assert [field for field, bit in fields.items() if bit] == [name]
    await channel.write("REFUSED", (1 << len(fields)) - 1)
    assert await channel.read("REFUSED") == 0


async def _refused_part(bench: EngineTestbench) -> None:
    """Check that a write of a part of a register changes nothing."""
    before = await bench.control.read("TIME_LIMIT")
    await refused(bench.control.bus.write(bench.control.registers["TIME_LIMIT"].offset, 0, strobe=3),
                  "a write of two bytes")
    assert await bench.control.read("TIME_LIMIT") == before


@cocotb.test()
async def interrupts(dut: Any) -> None:
    """The interrupt comes with the descriptors that ask for it, while it is enabled, until it is cleared."""
    bench = await ready(dut)
    for operation, channel in bench.control.channels.items():
        for asked in (False, True):
            for allowed in (False, True):
                bench.clear()
                coding = codings(bench.config)[0]
                tensor = RawTensor(random_values(bench.rng, coding, 64, 0.5), coding)
                descriptor = bench.move(operation, tensor)
                await bench.load()
                bit = bench.control.mask("IRQ_STATUS", f"{channel.prefix}_COMPLETION")
                await bench.control.write("IRQ_ENABLE", bit if allowed else 0)
                await bench.run([replace(descriptor, interrupt=asked)])
                assert await bench.control.read("IRQ_STATUS") == bit * asked
                assert int(dut.irq.value) == (asked and allowed)
                await bench.control.write("IRQ_STATUS", bit)
                assert await bench.control.read("IRQ_STATUS") == 0
                await bench.control.wait(2)
                assert int(dut.irq.value) == 0
    bench.scoreboard.check()


@cocotb.test()
async def attributes(dut: Any) -> None:
    """What a driver writes into the attribute registers is at every burst, of rings too, until a soft reset; engines
    without the registers refuse to write them."""
    bench = await ready(dut)
    built = bench.config.attribute_registers
    assert (await bench.control.fields("FEATURES"))["ATTRIBUTE_REGISTERS"] == built
    for _ in range(share(6)):
        bench.clear()
        await bench.behave(random_behaviour(bench.rng), random_behaviour(bench.rng))
        for offset, memory in ((_LANE_ATTRIBUTES, bench.device), (_LINK_ATTRIBUTES, bench.link)):
            value = int(bench.rng.integers(1 << 32))
            if not value & _MODIFIABLE:
                value &= ~_ALLOCATE
            write = bench.control.bus.write(offset, value)
            if not built:
                await refused(write, "attributes without their registers")
                continue
            await write
            seen = await bench.control.bus.read(offset)
            assert seen == value & (((1 << bench.config.user_bits) - 1) << 16 | 0xF7F)
            await memory.expect((seen & 0x7F) | (seen & 0xF00) >> 1 | seen >> 16 << 11)
        both = bench.rings(4)
        async with enabled(*both.values()):
            await _both(bench, share(12), rings=both)
    await bench.control.soft_reset()
    await bench.attributes_of_parameters()
    bench.clear()
    await _both(bench, 2)


@cocotb.test()
async def corners_of_values(dut: Any) -> None:
    """Minus zero, NaNs, the smallest numbers, a last word of zero, all zero and all dense."""
    bench = await ready(dut)
    for coding in codings(bench.config):
        made = corners(coding.element_bytes, bench.config.beat_bytes, int(bench.rng.integers(1 << 30)))
        packets = [packet for packet in made if packet.data.size]
        bench.rng.shuffle(packets)
        await bench.there_and_back([RawTensor(np.asarray(packet.data), coding) for packet in packets[:share(40)]])
