"""The memory's pins between masters of cocotbext-axi, and between hands that break every rule once."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiMaster, AxiResp

from cdma.verif.common import job
from cdma.verif.engine.memory import RULES, Behaviour, Knobs, Memory
from cdma.verif.engine.top import DEVICE, LINK

_PORTS = ("m_axi_lane0", "m_axi_lane1", "m_axi_link")
_BASE = 0x12_3456_0000

_test = cocotb.test(timeout_time=20, timeout_unit="ms")
"""A test that fails after ten million cycles: without a limit, a memory that does not answer would stop it for ever."""


async def _ready(dut: Any) -> tuple[Memory, Memory]:
    values = job.load()
    knobs = Knobs(dut)
    knobs.idle()
    for port in _PORTS:
        for name in ("arvalid", "rready", "awvalid", "wvalid", "bready"):
            getattr(dut, f"{port}_{name}").value = 0
    dut.aresetn.value = 0
    cocotb.start_soon(Clock(dut.aclk, 2, "ns").start())
    await ClockCycles(dut.aclk, 4)
    dut.aresetn.value = 1
    size = {"beat_bytes": values["beat_bytes"], "image_bytes": values["image_bytes"], "folder": job.folder()}
    device, link = Memory(knobs, "device", DEVICE, ports=2, **size), Memory(knobs, "link", LINK, ports=1, **size)
    for memory in (device, link):
        await memory.place(_BASE)
        await memory.behave(Behaviour())
        await memory.heal()
    return device, link


def _master(dut: Any, port: str) -> Any:
    master: Any = AxiMaster(AxiBus.from_prefix(dut, port), dut.aclk, dut.aresetn, reset_active_level=False)
    for interface in (master.write_if, master.read_if):
        interface.log.setLevel("WARNING")
    return master


@_test
async def bytes_pass(dut: Any) -> None:
    """What a master writes is what it reads, in order, however slow the memory; images go in and out."""
    _, link = await _ready(dut)
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    image = rng.integers(0, 256, link.image_bytes, dtype=np.uint8)
    await link.load(image)
    assert np.array_equal(await link.dump(), image)
    part = rng.integers(0, 256, 1600, dtype=np.uint8)
    await link.load(part, _BASE + 320)
    image[320:1920] = part
    assert np.array_equal(await link.dump(_BASE + 304, 640), image[304:944])
    master = _master(dut, "m_axi_link")
    for how in (Behaviour(), Behaviour(latency=40), Behaviour(stalls=0.5), Behaviour(stalls=0.7, longest=16),
                Behaviour(bandwidth=0.25, address_after_data=True)):
        await link.behave(how, seed=int(rng.integers(1 << 30)))
        for _ in range(4):
            place, size = int(rng.integers(0, 60000)), int(rng.integers(1, 5000))
            data = rng.integers(0, 256, size, dtype=np.uint8)
            written = await with_timeout(master.write(_BASE + place, data.tobytes()), 200, "us")
            assert written.resp == AxiResp.OKAY
            image[place:place + size] = data
            place, size = int(rng.integers(0, 60000)), int(rng.integers(1, 5000))
            read = await with_timeout(master.read(_BASE + place, size), 200, "us")
            assert (bytes(read.data), read.resp) == (image[place:place + size].tobytes(), AxiResp.OKAY)
    assert np.array_equal(await link.dump(), image)
    # The others' master starts and ends inside beats, and names the bursts of a read alike, which an engine never does.
    assert set(await link.broken()) <= {f"link port 0: {RULES[rule]}" for rule in (3, 8, 12, 24)}
    assert await link.open() == 0


@_test
async def figures_hold(dut: Any) -> None:
    """Latency, bandwidth and stalls are as asked for; every beat is counted."""
    _, link = await _ready(dut)
    dut.m_axi_link_rready.value = 1

    async def read(bursts: int) -> tuple[int, int, float]:
        await link.clear()
        start = await link.count("cycle", 0)
        for number in range(bursts):
            await _request(dut, "ar", _BASE + 4096 * (number % 8), 255, identifier=number)
        while await link.open():
            pass
        traffic = await link.traffic()
        assert (traffic.read_bursts, traffic.read_beats) == (bursts, 256 * bursts)
        cycles = traffic.last_read - traffic.first_read + 1
        return traffic.first_read - start, cycles, traffic.read_beats / cycles

    first, cycles, _ = await read(4)
    assert cycles == 1024
    await link.behave(Behaviour(latency=350))
    later, cycles, _ = await read(4)
    assert (later - first, cycles) == (350 - 1, 1024)
    for share in (0.05, 0.25, 0.5, 0.66, 0.7, 0.8, 0.9, 0.97, 1.0):
        await link.behave(Behaviour(bandwidth=share))
        assert abs((await read(4))[2] - share) < 0.0025, share
    for longest in (1, 8):
        await link.behave(Behaviour(stalls=0.3, longest=longest), seed=cocotb.RANDOM_SEED % 2**31)
        assert abs((await read(16))[2] - 0.7) < 0.05
    assert await link.broken() == []


@_test
async def reads_are_mixed(dut: Any) -> None:
    """Reads of different identifiers keep their order without a shuffle; with one they end in any order, and more of it
    mixes their beats. Each burst has its bytes, its identifier and its last beat in any case."""
    _, link = await _ready(dut)
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    image = rng.integers(0, 256, link.image_bytes, dtype=np.uint8)
    await link.load(image)
    dut.m_axi_link_rready.value = 1
    for shuffle, ordered, whole in ((0.0, True, True), (0.001, False, True), (1.0, False, False)):
        for latency in (0, 60):
            await link.behave(Behaviour(latency=latency, stalls=0.2, shuffle=shuffle),
                              seed=int(rng.integers(1 << 30)))
            await link.clear()
            asked = cocotb.start_soon(_reads(dut, 16))
            found: dict[int, list[int]] = {}
            ends, turns, before = [], 0, None
            while len(ends) < 16:
                await RisingEdge(dut.aclk)
                if int(dut.m_axi_link_rvalid.value):
                    identifier = int(dut.m_axi_link_rid.value)
                    found.setdefault(identifier, []).append(int(dut.m_axi_link_rdata.value))
                    ends += [identifier] * int(dut.m_axi_link_rlast.value)
                    turns += before not in (None, identifier)
                    before = identifier
            await asked
            for identifier, beats in found.items():
                place = 512 * identifier
                assert b"".join(beat.to_bytes(16, "little") for beat in beats) == (
                    image[place:place + 16 * (identifier + 1)].tobytes()), identifier
            assert (ends == sorted(ends)) == ordered == (await link.count("shuffled", 0) == 0)
            # With so little shuffle, a burst in thirty is left before its end.
            assert turns <= 20 if whole else turns > 30, (shuffle, turns)
    await ClockCycles(dut.aclk, 4)
    assert await link.open() == 0
    assert await link.broken() == []


async def _reads(dut: Any, count: int) -> None:
    """Bursts of 1, 2, 3 beats and so on, which are numbered by their identifiers."""
    for number in range(count):
        await _request(dut, "ar", _BASE + 512 * number, number, identifier=number)


@_test
async def toggles_are_counted(dut: Any) -> None:
    """Bits that change from beat to beat are counted each way, idle cycles between them or not; bytes without a strobe
    keep what they had."""
    _, link = await _ready(dut)
    dut.m_axi_link_rready.value = 1
    dut.m_axi_link_bready.value = 1
    beats = [0, (1 << 128) - 1, 0b1011, 0b1011, 0x80 << 120]
    await link.load(np.frombuffer(b"".join(beat.to_bytes(16, "little") for beat in beats), np.uint8).copy(), _BASE)
    for how in (Behaviour(), Behaviour(latency=20, stalls=0.7, longest=4)):
        await link.behave(how)
        await link.clear()
        await _request(dut, "ar", _BASE, 4)
        while await link.open():
            pass
        # 128 rise, 125 fall, none, three fall and one rises.
        assert (await link.traffic()).read_toggles == 128 + 125 + 4
        await _request(dut, "aw", _BASE + 4096, 4)
        for number, (beat, strobe) in enumerate(zip(beats, (0xFFFF, 0xFFFF, 0xFFFF, 0x0000, 0x00FF), strict=True)):
            await _data(dut, strobe, number == 4, data=beat)
        while await link.open():
            pass
        # In the last, just the low half is written.
        assert (await link.traffic()).write_toggles == 128 + 125 + 3
    await link.clear()
    traffic = await link.traffic()
    assert (traffic.read_toggles, traffic.write_toggles) == (0, 0)


@_test
async def addresses_fail(dut: Any) -> None:
    """Addresses that shall fail, and those outside the image, answer with an error and are not written."""
    device, link = await _ready(dut)
    image = np.zeros(link.image_bytes, np.uint8)
    await link.load(image)
    master = _master(dut, "m_axi_link")
    await link.fail(_BASE + 256, _BASE + 256, 2)
    for place, resp in ((0, 0), (240, 0), (256, 2), (272, 0), (link.image_bytes, 3), (-16, 3)):
        assert (await master.write(_BASE + place, bytes([7] * 16))).resp == resp
        assert (await master.read(_BASE + place, 16)).resp == resp
    for place in (0, 240, 272):
        image[place:place + 16] = 7
    assert np.array_equal(await link.dump(), image)
    assert (await link.traffic()).outside == 4
    await link.fail(_BASE + 256, _BASE + 300, 3, reads=False)
    assert (await master.read(_BASE + 256, 64)).resp == 0
    assert (await master.write(_BASE + 240, bytes(64))).resp == 3
    await link.heal()
    assert (await master.write(_BASE + 240, bytes(64))).resp == 0
    assert await link.broken() == [] == await device.broken()


async def _request(dut: Any, channel: str, address: int, length: int, *, port: str = "m_axi_link",
                   size: int = 4, qos: int = 0, identifier: int = 0) -> None:
    pins = {"addr": address, "len": length, "size": size, "burst": 1, "id": identifier, "cache": 3, "prot": 2,
            "qos": qos, "valid": 1}
    for name, value in pins.items():
        getattr(dut, f"{port}_{channel}{name}").value = value
    ready = getattr(dut, f"{port}_{channel}ready")
    await RisingEdge(dut.aclk)
    while not int(ready.value):
        await RisingEdge(dut.aclk)
    getattr(dut, f"{port}_{channel}valid").value = 0


async def _data(dut: Any, strobe: int, last: int, *, port: str = "m_axi_link", data: int = 0) -> None:
    for name, value in (("data", data), ("strb", strobe), ("last", last), ("valid", 1)):
        getattr(dut, f"{port}_w{name}").value = value
    await RisingEdge(dut.aclk)
    while not int(getattr(dut, f"{port}_wready").value):
        await RisingEdge(dut.aclk)
    getattr(dut, f"{port}_wvalid").value = 0


@_test
async def broken_rules_are_named(dut: Any) -> None:
    """Every rule is broken once, and nothing else is said than that."""
    device, link = await _ready(dut)
    for port in _PORTS:
        getattr(dut, f"{port}_rready").value = 1
        getattr(dut, f"{port}_bready").value = 1

    async def says(memory: Memory, *rules: int, port: int = 0) -> None:
        await ClockCycles(dut.aclk, 4)
        found = await device.broken() + await link.broken()
        assert found == [f"{memory.name} port {port}: {RULES[rule]}" for rule in rules]

    for channel, first in (("ar", 0), ("aw", 5)):
        lasts = () if channel == "ar" else ((0xFFFF, 0), (0xFFFF, 1))
        for rule, address, size in ((1, _BASE, 3), (2, _BASE + 4080, 4), (3, _BASE + 8, 4)):
            await _request(dut, channel, address, 1, size=size)
            for strobe, last in lasts:
                await _data(dut, strobe, last)
            await says(link, first + rule)
        # Two beats of which one is before the window, or behind it.
        for window in ((_BASE + 16, _BASE + 511), (_BASE, _BASE + 15)):
            await link.confine(*window)
            await _request(dut, channel, _BASE, 1)
            for strobe, last in lasts:
                await _data(dut, strobe, last)
            await says(link, 22 + (channel == "aw"))
        await link.confine(_BASE, _BASE + 31)
        await _request(dut, channel, _BASE, 1)
        for strobe, last in lasts:
            await _data(dut, strobe, last)
        await says(link)
        await link.confine(0, (1 << 64) - 1)
        # The block belongs to port 0; then one that does, but ends in the next.
        for port, address in ((1, _BASE), (0, _BASE + 496)):
            await _request(dut, channel, address, 1, port=f"m_axi_lane{port}")
            for strobe, last in lasts:
                await _data(dut, strobe, last, port=f"m_axi_lane{port}")
            await says(device, first + 4, port=port)
        await _request(dut, channel, _BASE, 16, port="m_axi_lane0")
        for beat in range(len(lasts) and 17):
            await _data(dut, 0xFFFF, beat == 16, port="m_axi_lane0")
        await says(device, 15 + (channel == "aw"))
        await ClockCycles(dut.aclk, 20)
        dut.m_axi_lane0_rready.value = 0
        for _ in range(2):
            await _request(dut, channel, _BASE, 1, port="m_axi_lane0")
        dut.m_axi_lane0_rready.value = 1
        for strobe, last in 2 * lasts:
            await _data(dut, strobe, last, port="m_axi_lane0")
        await says(device, 17 + (channel == "aw"))
        for qos, rules in ((1, [19 + (channel == "aw")]), (2, [])):
            await device.set("attributes", 0x23 + 128 * 2 * (qos == 2))
            await _request(dut, channel, _BASE, 1, port="m_axi_lane0", qos=qos)
            for strobe, last in lasts:
                await _data(dut, strobe, last, port="m_axi_lane0")
            await says(device, *rules)
        await device.set("attributes", 0x23)
        await link.behave(Behaviour(stalls=0.95, longest=256))
        getattr(dut, f"m_axi_link_{channel}addr").value = _BASE
        getattr(dut, f"m_axi_link_{channel}valid").value = 1
        # As long as requests are taken, each has an identifier of its own.
        for number in range(16):
            getattr(dut, f"m_axi_link_{channel}id").value = number
            await RisingEdge(dut.aclk)
            if number and not int(getattr(dut, f"m_axi_link_{channel}ready").value):
                break
        getattr(dut, f"m_axi_link_{channel}addr").value = _BASE + 512
        await RisingEdge(dut.aclk)
        getattr(dut, f"m_axi_link_{channel}valid").value = 0
        await _reset(dut)
        await link.behave(Behaviour())
        await says(link, first)
    dut.m_axi_link_rready.value = 0
    for _ in range(2):
        await _request(dut, "ar", _BASE, 1)
    await _request(dut, "ar", _BASE, 1, identifier=3)
    dut.m_axi_link_rready.value = 1
    await says(link, 24)
    for rule, beat in ((11, (0xFFFF, 0)), (12, (0xF00F, 1))):
        await _request(dut, "aw", _BASE, 0)
        await _data(dut, *beat)
        await says(link, rule)
    # Data may come a cycle behind their address, but neither later nor with a pause between them.
    for pauses, rules in (((0, 0), []), ((1, 0), []), ((2, 0), [21]), ((0, 1), [21])):
        await _request(dut, "aw", _BASE, 1, port="m_axi_lane0")
        for pause, last in zip(pauses, (0, 1), strict=True):
            for _ in range(pause):
                await RisingEdge(dut.aclk)
            await _data(dut, 0xFFFF, last, port="m_axi_lane0")
        await says(device, *rules)
    dut.m_axi_link_wvalid.value = 1
    await ClockCycles(dut.aclk, 3)
    dut.m_axi_link_wvalid.value = 0
    await says(link, 10)
    dut.m_axi_link_awvalid.value = 1
    await _reset(dut)
    await says(link, 13)
    if cocotb.SIM_NAME.lower().startswith("icarus"):
        dut.m_axi_link_awvalid.value = "x"
        await ClockCycles(dut.aclk, 2)
        dut.m_axi_link_awvalid.value = 0
        await says(link, 14)


async def _reset(dut: Any) -> None:
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 3)
    dut.m_axi_link_awvalid.value = 0
    dut.aresetn.value = 1
