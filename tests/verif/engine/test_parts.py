"""What the engine's benches are made of: places, stimuli, a scoreboard that finds what is wrong, figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import SHORT, Coding
from cdma.golden.codec.headers import Frame, scan
from cdma.golden.engine import Completion, Descriptor, Operation, Status
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.verif.engine.layout import Arena, OutOfSpaceError
from cdma.verif.engine.memory import COUNTS, KNOBS, RULES, Behaviour
from cdma.verif.engine.scoreboard import Scoreboard
from cdma.verif.engine.stimulus import DAMAGES, NARROWINGS, damage, edges, random_tensor

_CONFIG = load_engine("engine")
_NARROWING = _CONFIG.replace(narrowing=True)
_SIZE = 1 << 18


class _Bench:
    """A scoreboard with a tensor in device memory and room in link memory."""

    def __init__(self, config: EngineConfig = _CONFIG) -> None:
        self.rng = np.random.default_rng(1)
        self.device = Arena(1 << 20, _SIZE, config.block_bytes, self.rng)
        self.link = Arena(0, _SIZE, config.link_beat_bytes, self.rng)
        self.board = Scoreboard(config, self.device, self.link)
        tensor = random_tensor(self.rng, config, 3 * config.block_bytes, Coding.ZVC32)
        self.stream = blocks.compress(tensor.raw, Coding.ZVC32, config.block_bytes)
        self.offload = Descriptor(operation=Operation.OFFLOAD, coding=Coding.ZVC32, source=self.device.put(tensor.raw),
                                  destination=self.link.take(self.stream.size), raw_bytes=tensor.raw.size,
                                  capacity=self.stream.size, tag=7)
        self.raw = tensor.raw
        # What the engine would answer; asked of a board whose images nobody compares.
        other = Arena(self.device.base, _SIZE, config.block_bytes, self.rng)
        other.image[:] = self.device.image
        place = Arena(0, _SIZE, config.link_beat_bytes, self.rng)
        self.right = Scoreboard(config, other, place).expected(self.offload)[0]

    def memory(self, offset: int = 0) -> np.ndarray:
        """The link memory after the transfer, with the byte at an offset from the destination changed."""
        seen = self.link.image.copy()
        seen[self.offload.destination:self.offload.destination + self.stream.size] = self.stream
        if offset:
            seen[self.offload.destination + offset] ^= 0x10
        return seen


def test_places_lie_apart_and_hold_their_bytes() -> None:
    rng = np.random.default_rng(2)
    arena = Arena(0x10000, 0x10000, 512, rng)
    ends = 0x10000
    for _ in range(12):
        data = rng.integers(0, 256, int(rng.integers(1, 2000)), dtype=np.uint8)
        at = arena.put(data)
        assert at % 512 == 0
        assert at - ends >= 64
        assert np.array_equal(arena.view(at, data.size), data)
        ends = at + data.size
    with pytest.raises(OutOfSpaceError):
        arena.take(0x10000)
    arena.clear()
    assert arena.take(10) < 0x10000 + 5 * 512


def test_numbers_come_from_the_verilog() -> None:
    assert KNOBS["read_latency"] == 0
    assert KNOBS["dump"] == 67
    assert COUNTS["read_beats"] == 0
    assert RULES[2] == "a read crosses 4 KiB"
    assert len(set(KNOBS.values())) == len(KNOBS)


@pytest.mark.parametrize("longest", [1, 4, 64])
def test_pauses_are_as_frequent_as_asked(longest: int) -> None:
    often = Behaviour(stalls=0.3, longest=longest).often / 256
    mean = (1 + longest) / 2
    assert often * mean / (1 + often * mean) == pytest.approx(0.3, abs=0.05)


def test_a_right_transfer_passes() -> None:
    bench = _Bench()
    assert bench.board.judge(bench.offload, replace(bench.right, cycles=1000)) is None
    assert bench.board.compare("link", bench.link, bench.memory()) is None
    bench.board.check()
    totals = bench.board.take_totals(Operation.OFFLOAD)
    assert (totals.raw_bytes, totals.packed_bytes) == (bench.raw.size, bench.stream.size)
    assert bench.board.take_totals(Operation.OFFLOAD).raw_bytes == 0


@pytest.mark.parametrize(("change", "said"), [
    ({"status": Status.ABORTED}, "status is ABORTED, not OK"),
    ({"tag": 8}, "tag is 0x8, not 0x7"),
    ({"crc": 0}, "crc is 0x0, not 0x"),
    ({"nonzero": 1}, "nonzero is 0x1, not 0x"),
    ({"bytes_written": 4}, "bytes_written is 0x4, not 0x"),
    ({"place": 1}, "place is 0x1, not 0x0"),
    ({"cycles": 3}, "3 cycles, but"),
])
def test_a_wrong_completion_is_found(change: dict, said: str) -> None:
    bench = _Bench()
    bench.board.judge(bench.offload, replace(bench.right, **({"cycles": 1000} | change)))
    with pytest.raises(AssertionError, match=said):
        bench.board.check()


@pytest.mark.parametrize("offset", [-1, 100])
def test_a_wrong_byte_is_found(offset: int) -> None:
    bench = _Bench()
    bench.board.judge(bench.offload, replace(bench.right, cycles=1000))
    said = bench.board.compare("link", bench.link, bench.memory(offset))
    assert said is not None
    assert f"byte {bench.offload.destination + offset:#x} is 0x" in said
    with pytest.raises(AssertionError, match="1 bytes differ"):
        bench.board.check()


def test_a_wrong_byte_of_a_stream_is_located() -> None:
    bench = _Bench()
    bench.board.judge(bench.offload, replace(bench.right, cycles=1000))
    second = int(scan(bench.stream, Frame(_CONFIG.block_bytes)).offset[1])
    for offset, part in ((second + 3, "byte 3 of the header"), (second + 14, "byte 10 of")):
        said = bench.board.compare("link", bench.link, bench.memory(offset))
        lane = (bench.offload.source // _CONFIG.block_bytes + 1) % _CONFIG.lanes
        bit = 8 * ((bench.offload.destination + offset) % _CONFIG.link_beat_bytes)
        assert said is not None
        assert f"transfer 1 (offload, tag 0x7), byte {offset} of the stream, block 1, {part}" in said
        assert f"m_axi_link_wdata[{bit + 7}:{bit}] and at the block compressor of lane {lane}" in said
        bench.link.image[:] = bench.memory()


def test_a_wrong_byte_of_a_tensor_is_located() -> None:
    bench = _Bench()
    bench.board.expected(bench.offload)
    destination = bench.device.take(bench.raw.size, align=_CONFIG.block_bytes * _CONFIG.lanes)
    prefetch = Descriptor(operation=Operation.PREFETCH, coding=Coding.ZVC32, source=bench.offload.destination, tag=9,
                          destination=destination, raw_bytes=bench.raw.size, capacity=bench.raw.size,
                          packed_bytes=bench.stream.size)
    right = Scoreboard(_CONFIG, bench.device, bench.link).expected(prefetch)[0]
    assert bench.board.judge(prefetch, replace(right, cycles=1000)) is None
    seen = bench.device.image.copy()
    offset = _CONFIG.block_bytes + 3 * 128 + 5
    seen[destination - bench.device.base + offset] ^= 1
    said = bench.board.compare("device", bench.device, seen)
    assert said is not None
    lane = (destination + offset) // _CONFIG.block_bytes % _CONFIG.lanes
    assert "transfer 1 (prefetch, tag 0x9), block 1, line 3, byte 5 of the line; look at" in said
    assert f"m_axi_lane{lane}_wdata[" in said


def test_a_byte_outside_of_every_destination_is_called_so() -> None:
    bench = _Bench()
    bench.board.judge(bench.offload, replace(bench.right, cycles=1000))
    said = bench.board.compare("link", bench.link, bench.memory(-1))
    assert said is not None
    assert said.endswith("no transfer writes there: a write outside of every destination")


@pytest.mark.parametrize(("offset", "passes"), [(0, True), (-1, False), (100, False)])
def test_a_destination_of_an_abort_holds_old_or_right_bytes(offset: int, passes: bool) -> None:
    bench = _Bench()
    seen = bench.memory(offset)
    middle = bench.offload.destination + bench.stream.size // 2
    seen[middle:middle + 64] = bench.link.image[middle:middle + 64]
    blank = Completion(tag=7, operation=Operation.OFFLOAD, status=Status.ABORTED)
    assert bench.board.judge(bench.offload, blank, aborted=True) is None
    bench.board.compare("link", bench.link, seen)
    assert (not bench.board.differences) is passes


def test_a_reset_leaves_old_or_right_bytes() -> None:
    bench = _Bench()
    bench.board.lost(bench.offload)
    assert bench.board.compare("link", bench.link, bench.memory()) is None
    bench.board.check()


def test_errors_of_memory_are_expected_where_they_are() -> None:
    bench = _Bench()
    bench.board.fail("device", bench.offload.source + 4100, bench.offload.source + 4100, 3, writes=False)
    right = bench.board.expected(bench.offload)
    assert [(each.status, each.response, each.place) for each in right] == [
        (Status.LANE_READ_ERROR, 3, bench.offload.source + 4096)]
    bench.board.heal()
    assert bench.board.expected(bench.offload)[0].status is Status.OK


def test_edges_hold_one_element_and_both_sides_of_a_block() -> None:
    lengths = edges(_CONFIG, 4)
    assert lengths[0] == 4
    assert {4092, 4096, 4100, 4 * 4096 - 4, 4 * 4096 + 32} <= set(lengths)
    assert all(length % 4 == 0 for length in lengths)


def test_tensors_have_blocks_of_every_coding_raw_ones_and_short_ones() -> None:
    rng, found = np.random.default_rng(3), set()
    for _ in range(300):
        tensor = random_tensor(rng, _NARROWING, most_blocks=3)
        assert tensor.raw.size % tensor.element_bytes == 0
        assert not tensor.narrow or tensor.narrow in NARROWINGS[tensor.coding]
        size = tensor.coded_bytes(_NARROWING.block_bytes)
        headers = scan(tensor.stream(_NARROWING.block_bytes, True), Frame(size, tensor.coded_bytes(tensor.raw.size)))
        assert headers.error is None
        found |= {(int(tensor.coding), tensor.narrow, field) for field in headers.coding.tolist()}
        last = list(blocks.headers(tensor.stream(_NARROWING.block_bytes, True)))[-1]
        found.add((int(tensor.coding), tensor.narrow, last.field))
    wanted = {(coding, 0) for coding in map(int, Coding) if Coding(coding).sized}
    wanted |= {(int(coding), int(form)) for coding, forms in NARROWINGS.items() for form in forms}
    missing = {(coding, form, field) for coding, form in wanted for field in (0, coding, coding | SHORT)} - found
    assert not missing


def test_numbers_are_worth_coding_with_exponents() -> None:
    rng = np.random.default_rng(4)
    shorter = 0
    for _ in range(40):
        tensor = random_tensor(rng, _CONFIG, 4 * _CONFIG.block_bytes, Coding.BFLOAT16)
        plain = blocks.compress(tensor.raw, Coding.ZVC16, _CONFIG.block_bytes)
        shorter += tensor.stream(_CONFIG.block_bytes, True).size < 0.95 * plain.size
    assert shorter > 10


@pytest.mark.parametrize("coding", [coding for coding in Coding if coding.sized])
def test_damage_reaches_every_status_of_a_stream(coding: Coding) -> None:
    bench = _Bench()
    found: set[Status] = set()
    kinds: dict[str, set[Status]] = {}
    tensors = [random_tensor(bench.rng, _CONFIG, coding=coding, most_blocks=6) for _ in range(12 * len(DAMAGES))]
    streams = [(each.stream(_CONFIG.block_bytes, True), _CONFIG.block_bytes) for each in tensors]
    for kind, number, stream in damage(bench.rng, streams):
        bench.link.clear()
        source = bench.link.put(stream)
        reached = {each.status for each in bench.board.expected(Descriptor(
            operation=Operation.PREFETCH, coding=coding, source=source, destination=bench.device.base,
            raw_bytes=tensors[number].raw.size, capacity=tensors[number].raw.size, packed_bytes=stream.size))}
        kinds.setdefault(kind, set()).update(reached)
        found |= reached
    assert found >= {status for status in Status if 0x30 <= status.value < 0x40} | {Status.OK}
    assert Status.BAD_CODING in kinds["short flag wrong"]
    assert Status.BAD_LENGTH in kinds["another length field"]
    assert Status.BAD_PAYLOAD in kinds["payload: cut in front"] | kinds["payload: flip in front"]
