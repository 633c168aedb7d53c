"""The simulated SoC: firmware on a RISC-V core moves a tensor of the shipped dump, and faults are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.crc32c import crc32c
from cdma.hdl.config.engine import load_engine
from cdma.hdl.litex.layout import Layout
from cdma.verif.soc import simulate
from cdma.verif.soc.simulate import WRITE_BACK, simulate_soc, ways
from cdma.workload.data import shipped

TINY = load_engine("tiny").replace(write_back=True)


def tensor(length: int) -> bytes:
    """The first bytes of an array of the shipped dump."""
    with np.load(shipped()) as arrays:
        return np.ascontiguousarray(arrays["fire4/concat"]).tobytes()[:length]


@pytest.mark.parametrize(("memory", "lanes", "length"), [("ram", 1, 65536), ("dram", 2, 16384)])
def test_a_tensor_goes_out_and_comes_back_in_every_way(memory: str, lanes: int, length: int, build_dir: Path,
                                                       seed: int) -> None:
    raw = tensor(length)
    ran = simulate_soc(TINY.replace(lanes=lanes), raw, Coding.FLOAT32, memory=memory, build_dir=build_dir, seed=seed)
    assert ran["difference"] is None, ran["text"]
    assert [(each["way"], each["direction"]) for each in ran["transfers"]] == [
        (way, direction) for way in ("poll", "interrupt", "ring", WRITE_BACK) for direction in ("offload", "prefetch")]
    right = blocks.compress(raw, Coding.FLOAT32, TINY.block_bytes)
    assert f"engine lanes {lanes} beat 16 link 16 block 2048" in ran["text"]
    for each in ran["transfers"]:
        assert (each["raw_bytes"], each["packed_bytes"]) == (length, right.size)
        assert each["way"] in ("ring", WRITE_BACK) or each["crc"] == crc32c(right)
        # A beat of the stream is 16 bytes; a beat of the bus takes some five cycles, one of the SDRAM eight and more.
        beats = length // TINY.beat_bytes + right.size // TINY.link_beat_bytes
        assert right.size // 16 <= each["link_cycles"] <= right.size // 16 + 8
        assert beats < each["cycles"] < 16 * beats


def printed(text: str, ended: bool = True) -> str | None:
    """What is wrong with a text of the firmware, for a tensor of one block."""
    raw = bytes(TINY.block_bytes)
    console = {"text": text, "cycles": 100, "ended": ended}
    streams = simulate._streams(Layout(TINY, len(raw)), raw, Coding.ZVC32)
    return simulate._difference(console, list(simulate._transfers(text)), ways(TINY), streams)


def right_text() -> str:
    """What the firmware prints when all is right."""
    packed = blocks.compress(bytes(TINY.block_bytes), Coding.ZVC32, TINY.block_bytes)
    lines = []
    for way, interrupts in ways(TINY).items():
        lines += [f"{way} {direction} raw 2048 packed {packed.size} crc {crc32c(packed)} cycles 9 link 9 memory 0 "
                  "buffer 0" for direction in ("offload", "prefetch")]
        lines.append(f"{way} compared 2048 differ 0 interrupts {interrupts} reads {int(way == 'ring')}")
    return "\n".join([*lines, "PASS", ""])


def test_a_right_text_is_accepted() -> None:
    assert printed(right_text()) is None


@pytest.mark.parametrize(("was", "becomes", "said"), [
    ("PASS", "FAIL", "does not say that it passed"),
    ("ring compared 2048 differ 0", "ring compared 2048 differ 3", r"ring: .* are \(3, 0\), not \(0, 0\)"),
    ("interrupts 2", "interrupts 1", r"interrupt: .* are \(0, 1\), not \(0, 2\)"),
    ("poll offload raw 2048 packed ", "poll offload raw 2048 packed 1", "poll, offload: 1"),
    ("ring prefetch", "ring nothing", "has not moved the tensor in every way"),
    ("write-back offload", "", "has not moved the tensor in every way"),
    ("interrupts 0 reads 0\nPASS", "interrupts 0 reads 3\nPASS", "while it waited for records, .* 3 times"),
    ("poll compared", "error: poll: the ring is disabled\npoll compared", "the firmware says: poll: the ring is disa"),
])
def test_a_wrong_text_is_refused(was: str, becomes: str, said: str) -> None:
    text = right_text()
    assert was in text
    found = printed(text.replace(was, becomes))
    assert found is not None
    with pytest.raises(ValueError, match=said):
        raise ValueError(found)


def test_a_firmware_that_hangs_is_refused() -> None:
    assert printed("", ended=False) == "the firmware has not ended after 100 cycles"


def test_checksums_of_a_ring_are_added_up() -> None:
    raw = tensor(3 * TINY.block_bytes)
    layout = Layout(replace(TINY, crc=False), len(raw))
    assert simulate._streams(layout, raw, Coding.FLOAT32)["ring"][1] == 0
    streams = simulate._streams(Layout(TINY, len(raw)), raw, Coding.FLOAT32)
    parts = [blocks.compress(raw[at:at + TINY.block_bytes], Coding.FLOAT32, TINY.block_bytes)
             for at in range(0, len(raw), TINY.block_bytes)]
    assert streams["ring"] == (sum(each.size for each in parts), sum(crc32c(each) for each in parts) % 2**32)
