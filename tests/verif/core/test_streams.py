"""What benches are made of: beats and back, pauses, lines of a stream, differences."""

from __future__ import annotations

from array import array
from dataclasses import replace

import numpy as np
import pytest

from cdma.golden.codec import lines as zvc
from cdma.hdl.config.core import load
from cdma.verif.common.stalls import pattern
from cdma.verif.common.stream import Packet, Received, beats, from_texts, to_texts
from cdma.verif.common.tensors import random_raw
from cdma.verif.core.packets import Expected, by_golden, difference, walk
from cdma.verif.core.stimulus import damaged

_COMPRESSOR, _DECOMPRESSOR = load("compressor"), load("decompressor")


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 32, 16 * 5000 + 3])
@pytest.mark.parametrize("noise", [None, 5])
def test_beats_hold_the_bytes(size: int, noise: int | None) -> None:
    data = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    made = list(beats(Packet(data, 2, noise=noise), 16))
    assert len(made) == max(1, -(-size // 16))
    assert [beat[2] for beat in made] == ["0"] * (len(made) - 1) + ["1"]
    assert made[0][3] == "010"
    kept = size - 16 * (len(made) - 1)
    assert made[-1][1] == "0" * (16 - kept) + "1" * kept
    assert np.array_equal(from_texts([beat[0] for beat in made], 16, kept), data)


def test_an_empty_tail_is_a_beat_more() -> None:
    data = np.arange(32, dtype=np.uint8)
    made = list(beats(Packet(data, 1, empty_tail=True), 16))
    assert [(beat[1], beat[2]) for beat in made] == [("1" * 16, "0"), ("1" * 16, "0"), ("0" * 16, "1")]
    with pytest.raises(ValueError, match="17 bytes does not fill its beats of 16 bytes"):
        list(beats(Packet(np.zeros(17, np.uint8), 1, empty_tail=True), 16))


def test_unknown_bits_count_only_where_bytes_are_kept() -> None:
    texts = to_texts(np.arange(32, dtype=np.uint8), 16)
    texts[1] = "X" * 120 + texts[1][120:]
    assert from_texts(texts, 16, 1).tolist() == list(range(17))
    with pytest.raises(ValueError, match="beat 1 holds an unknown bit"):
        from_texts(texts, 16, 2)


@pytest.mark.parametrize("probability", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("burst", [1.0, 10.0])
def test_pauses_are_as_frequent_and_as_long_as_asked(probability: float, burst: float) -> None:
    source = pattern(probability, 3, burst)
    flags = np.array([next(source) for _ in range(8000)])
    assert abs(flags.mean() - probability) < 0.1
    starts = np.flatnonzero(np.diff(flags) == 1).size
    assert flags.sum() / starts == pytest.approx(max(burst, probability / (1 - probability), 1), rel=0.35)


def test_no_pause_without_stalls_and_no_pause_for_ever() -> None:
    source = pattern(0, 1)
    assert not any(next(source) for _ in range(100))
    with pytest.raises(ValueError, match="stalls must be at least 0 and below 1, not 1"):
        pattern(1, 1)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_walk_finds_every_line(size: int) -> None:
    raw = random_raw(np.random.default_rng(size), 1000, size, 0.4)
    lengths = zvc.line_packed_bytes(raw, size)
    found = walk(zvc.compress(raw, size), size)
    assert [line.offset for line in found] == (np.cumsum(lengths) - lengths).tolist()
    assert [line.held + 16 // size for line in found] == lengths.tolist()


def _seen(data: np.ndarray, error: int = 0, line: int = 0) -> Received:
    return Received(data, error, line, array("q"))


def test_the_first_difference_has_its_line() -> None:
    right = np.arange(200, dtype=np.uint8)
    wrong = right.copy()
    wrong[[130, 140]] += 1
    expected = Expected(right, starts=np.array([0, 128]))
    for sent, seen, said in (
            (expected, right, None),
            (expected, right[:150], "150 bytes came out, not 200 (line 1)"),
            (replace(expected, least=128), right[:150], None),
            (replace(expected, data=right[:150]), right, "200 bytes came out, not 150 (line 1)"),
            (expected, wrong, "byte 130 (line 1) is 0x83, not 0x82"),
            (Expected(right), wrong, "byte 130 is 0x83, not 0x82"),
            (Expected(None), wrong, None),
            (replace(expected, user=5), right, "tuser is 0x0, not 0x5")):
        assert difference(sent, _seen(seen)) == said


def test_golden_judges_code_line_and_bytes() -> None:
    raw = random_raw(np.random.default_rng(1), 101, 2, 0.5)
    expected, = by_golden(Packet(raw[:-1], 2), _COMPRESSOR)
    right = zvc.compress(raw[:-2], 2)
    assert difference(expected, _seen(right, 3)) is None
    assert difference(expected, _seen(right)) == "error code is 0, not 3 (trailing_bytes)"
    cut, = by_golden(Packet(right[:9], 2), _DECOMPRESSOR)
    assert (cut.error.name, cut.line, cut.least) == ("TRUNCATED_DATA", 0, 0)
    assert cut.data is not None
    assert "error line is 4, not 0" in str(difference(cut, _seen(cut.data, 2, 4)))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_what_is_known_of_a_failing_stream_is_a_prefix_of_what_was_packed(size: int) -> None:
    rng = np.random.default_rng(size)
    raw = random_raw(rng, 300, size, 0.5)
    packed = zvc.compress(raw, size)
    for cut in range(packed.size):
        expected, = by_golden(Packet(packed[:cut], size), _DECOMPRESSOR)
        assert expected.data is not None
        assert (expected.least or 0) <= expected.data.size
        assert np.array_equal(expected.data, raw[:expected.data.size])


def test_damage_reaches_every_error_code() -> None:
    packets = damaged(np.random.default_rng(1), 4, 200)
    assert {by_golden(packet, _DECOMPRESSOR)[0].error.value for packet in packets} == {0, 1, 2, 3}
