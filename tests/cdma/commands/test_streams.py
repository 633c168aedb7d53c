"""compress, decompress and info: files there and back, and every way to get it wrong."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.__main__ import main
from cdma.console.options import CODINGS
from cdma.golden.codec import blocks, crc32c, files
from cdma.golden.codec import lines as zvc
from cdma.golden.codec.coding import Coding
from cdma.hdl.codec import coding as built


@pytest.fixture
def layer(tmp_path: Path) -> np.ndarray:
    """An array with zeros, a -0.0 and a NaN, saved as layer.npy, and in dump.npz beside another."""
    rng = np.random.default_rng(3)
    array = np.maximum(rng.standard_normal((5, 11, 33)), 0).astype(np.float32)
    array[0, 0, :2] = [-0.0, np.nan]
    np.save(tmp_path / "layer.npy", array)
    np.savez(tmp_path / "dump.npz", layer=array, other=np.ones(3, np.int8))
    return array


def stream_in(path: str) -> bytes:
    """The stream of a file, behind its head."""
    return Path(path).read_bytes()[files.HEAD_BYTES:]


@pytest.mark.parametrize("block_bytes", [512, 4096, 32768])
@pytest.mark.parametrize("element", [8, 16, 32])
def test_block_stream_there_and_back(cdma, layer: np.ndarray, element: int, block_bytes: int) -> None:
    size = ["--block-bytes", block_bytes]
    facts = cdma("compress", "layer.npy", "l.zvc", "--coding", f"zvc{element}", *size, "--json").json
    stream = stream_in("l.zvc")
    assert stream == blocks.compress(layer, Coding[f"ZVC{element}"], block_bytes).tobytes()
    assert files.read_head(Path("l.zvc").read_bytes()) == files.head_of(stream, layer.nbytes, "float32",
                                                                        block_bytes=block_bytes)
    assert (facts["raw_bytes"], facts["packed_bytes"]) == (layer.nbytes, len(stream))
    assert facts["ratio"] == layer.nbytes / len(stream)
    assert facts["crc32c"] == f"{crc32c.crc32c(stream):08x}"
    assert facts["blocks"] == -(-layer.nbytes // block_bytes)
    Path("bare").write_bytes(stream)
    for call in (["l.zvc", "back.npy"], ["bare", "back.npy", "--stream", "--dtype", "float32", *size]):
        outcome = cdma("decompress", *call, "--shape", "5,11,33", "--crc", facts["crc32c"], "--raw-bytes",
                       layer.nbytes)
        assert outcome.code == 0
        back = np.load("back.npy")
        assert (back.tobytes(), back.shape, back.dtype) == (layer.tobytes(), layer.shape, layer.dtype)


def test_every_coding_of_engines_can_be_asked_for() -> None:
    assert set(CODINGS) == set(built.CODINGS)


@pytest.mark.parametrize("coding", CODINGS)
def test_every_coding_there_and_back(cdma, layer: np.ndarray, coding: str) -> None:
    facts = cdma("compress", "layer.npy", "l.zvc", "--coding", coding, "--json").json
    stream = stream_in("l.zvc")
    assert facts["coding"] == coding
    assert stream == blocks.compress(layer, Coding[coding.upper()]).tobytes()
    assert cdma("decompress", "l.zvc", "back.raw").code == 0
    assert Path("back.raw").read_bytes() == layer.tobytes()
    assert {row["coding"] for row in cdma("info", "l.zvc", "--json").json["blocks"]} <= {coding, "raw"}


@pytest.mark.parametrize(("options", "coding"), [
    ((), "bfloat16"), (("--dtype", "int64"), "bfloat16"), (("--element", "32"), "float32"),
    (("--element", "8"), "zvc8")])
def test_the_coding_is_chosen_from_the_values(cdma, options: tuple[str, ...], coding: str) -> None:
    """float32 that holds bfloat16 values, whatever it is said to be; ``--element`` leaves codings out."""
    values = np.random.default_rng(1).standard_normal(1 << 13).astype(np.float32).view("<u2")
    values[::2] = 0
    np.save("l.npy", values.view(np.float32))
    values.tofile("l.raw")
    told = cdma("compress", "l.raw" if options else "l.npy", "l", *options, "--json").json
    assert told["coding"] == coding
    assert stream_in("l") == blocks.compress(values, Coding[coding.upper()]).tobytes()
    assert coding != "bfloat16" or told["ratio"] > 2.35


def test_info_counts_what_lines_have(cdma) -> None:
    values = np.zeros((6, 32), np.float32)
    values[0] = 1.0
    values[1, 0] = -2.0
    values[2, :2] = [-0.0, 1.0]
    values[3:5] = np.float32(3.0)
    np.save("l.npy", values)
    cdma("compress", "l.npy", "l", "--coding", "float32", "--no-fallback")
    (row,) = cdma("info", "l", "--json").json["blocks"]
    assert row["exponents"] == {"lines": 6, "zero": 1, "dense": 3, "signs": 2, "escapes": 1, "bases": 4, "width": 0.2}
    text = cdma("info", "l").out.splitlines()
    assert text[0].split()[-7:] == ["lines", "zero", "dense", "signs", "escapes", "bases", "width"]
    assert text[2].split()[-7:] == ["6", "1", "3", "2", "1", "4", "0.2"]


def test_line_stream_there_and_back(cdma, layer: np.ndarray) -> None:
    for bare, how in (([], []), (["--stream"], ["--stream", "--lines", "--element", 32])):
        assert cdma("compress", "dump.npz", "l.lines", "--array", "layer", "--lines", *bare).code == 0
        stream = Path("l.lines").read_bytes() if bare else stream_in("l.lines")
        assert stream == zvc.compress(layer, 4).tobytes()
        assert cdma("decompress", "l.lines", "back.raw", *how).code == 0
        assert Path("back.raw").read_bytes() == layer.tobytes()


def test_info_of_a_line_stream_is_its_head(cdma, layer: np.ndarray) -> None:
    cdma("compress", "layer.npy", "l.lines", "--lines")
    facts = cdma("info", "l.lines", "--json").json
    assert (facts["raw_bytes"], facts["dtype"], facts["element_bits"], facts["blocks"]) == (
        layer.nbytes, "float32", 32, [])
    assert "l.lines: line stream, elements of 32 bits; 7,260 -> " in cdma("info", "l.lines").out


@pytest.mark.parametrize(("dtype", "own"), [("bfloat16", "uint16"), ("float8_e5m2", "uint8"), ("float64", "float64")])
def test_an_array_has_the_type_of_the_head(cdma, dtype: str, own: str) -> None:
    Path("raw").write_bytes(bytes(range(64)))
    cdma("compress", "raw", "l", "--dtype", dtype)
    assert cdma("decompress", "l", "back.npy").code == 0
    assert np.load("back.npy").dtype == own
    assert np.load("back.npy").tobytes() == bytes(range(64))
    assert f"head: values of {dtype}; lengths and CRC are right" in cdma("info", "l").out


@pytest.mark.parametrize("lines", [[], ["--lines"]], ids=["blocks", "lines"])
def test_every_cut_of_a_file_is_refused(cdma, layer: np.ndarray, lines: list[str]) -> None:
    np.save("small.npy", layer[0, :4])
    cdma("compress", "small.npy", "l", *lines)
    whole = Path("l").read_bytes()
    for length in (0, 3, 4, 63, 64, 65, len(whole) // 2, len(whole) - 4, len(whole) - 1):
        Path("cut").write_bytes(whole[:length])
        for call in (["info", "cut"], ["decompress", "cut", "back"]):
            outcome = cdma(*call)
            assert outcome.code in (1, 2)
            assert outcome.err.startswith("cdma: error: ") and outcome.err.count("\n") == 1
            assert ("(give --stream to read one)" in outcome.err) == (length < 4)
            assert not Path("back").exists()


def test_a_cut_bare_stream_is_seen_with_its_raw_length(cdma, fails) -> None:
    np.save("two.npy", np.zeros(2048, np.float32))
    cdma("compress", "two.npy", "two", "--stream", "--coding", "zvc32")
    for length, raw in ((132, 4096), (0, 0)):
        Path("cut").write_bytes(Path("two").read_bytes()[:length])
        assert "give --stream to read one" in fails("decompress", "cut", "back")
        assert "truncated header" in fails("decompress", "cut", "back", "--stream", "--raw-bytes", 8192, code=1)
        assert not Path("back").exists()
        assert cdma("decompress", "cut", "back", "--stream").code == 0
        assert Path("back").stat().st_size == raw
        Path("back").unlink()


def test_fallback_can_be_turned_off(cdma, tmp_path: Path) -> None:
    np.save("dense.npy", np.ones(1024, np.float32))
    with_fallback = cdma("compress", "dense.npy", "a", "--coding", "zvc32", "--json").json
    without = cdma("compress", "dense.npy", "b", "--coding", "zvc32", "--no-fallback", "--json").json
    assert (with_fallback["raw_blocks"], with_fallback["packed_bytes"]) == (1, 4096 + 4)
    assert (without["raw_blocks"], without["packed_bytes"]) == (0, 4096 + 32 * 4 + 4)
    assert cdma("decompress", "b", "back").code == 0
    assert Path("back").read_bytes() == np.ones(1024, np.float32).tobytes()


def test_text_output_says_sizes(cdma, layer: np.ndarray) -> None:
    outcome = cdma("compress", "layer.npy", "l.zvc")
    assert outcome.err == ""
    assert f"{layer.nbytes:,} -> {len(stream_in('l.zvc')):,} bytes" in outcome.out


def test_info_goes_from_header_to_header(cdma, layer: np.ndarray) -> None:
    cdma("compress", "layer.npy", "l.zvc", "--coding", "zvc32", "--block-bytes", 512)
    stream = stream_in("l.zvc")
    facts = cdma("info", "l.zvc", "--json").json
    Path("bare").write_bytes(stream)
    assert cdma("info", "bare", "--stream", "--block-bytes", 512, "--json").json == facts | {
        "file": "bare", "dtype": None}
    headers = list(blocks.headers(stream))
    assert facts["raw_bytes"] == layer.nbytes
    assert facts["ratio"] == layer.nbytes / len(stream)
    assert [(row["offset"], row["payload_bytes"], row["sequence"]) for row in facts["blocks"]] == [
        (block.offset, block.payload_bytes, block.sequence) for block in headers]
    assert sum(row["raw_bytes"] for row in facts["blocks"]) == layer.nbytes
    text = cdma("info", "l.zvc").out
    assert "zvc32" in text
    assert f"{len(headers)} blocks" in text


def test_info_shows_twenty_blocks_unless_asked_for_all(cdma) -> None:
    np.save("zeros.npy", np.zeros(30 * 1024, np.float32))
    cdma("compress", "zeros.npy", "z", "--coding", "zvc32")
    short, long = cdma("info", "z").out, cdma("info", "z", "--all").out
    assert "... and 10 more" in short
    assert "more" not in long
    assert long.count("zvc32") == 30


def test_empty_array(cdma) -> None:
    np.save("empty.npy", np.zeros(0, np.float32))
    for options in ([], ["--lines"]):
        assert cdma("compress", "empty.npy", "e", *options).code == 0
        assert stream_in("e") == b""
        assert cdma("info", "e").code == 0
        assert cdma("decompress", "e", "back.npy").code == 0
        assert np.load("back.npy").size == 0


def test_pipes_are_clean(tmp_path: Path) -> None:
    raw = np.maximum(np.random.default_rng(1).standard_normal(3000), 0).astype(np.float16).tobytes()
    program = [sys.executable, "-m", "cdma"]
    stream = blocks.compress(raw, Coding.ZVC16)
    head = files.head_of(stream, len(raw), "uint16", block_bytes=4096).pack()
    for bare, front in (([], head), (["--stream"], b"")):
        packed = subprocess.run([*program, "compress", "-", "-", "--element", "16", "--coding", "zvc16", *bare],
                                input=raw, cwd=tmp_path, capture_output=True, check=True)
        assert (packed.stdout, packed.stderr) == (front + stream.tobytes(), b"")
        back = subprocess.run([*program, "decompress", "-", "-", *bare], input=packed.stdout, cwd=tmp_path,
                              capture_output=True, check=True)
        assert (back.stdout, back.stderr) == (raw, b"")


@pytest.mark.parametrize("command", [["info", "small", "--stream"], ["decompress", "small", "o", "--stream"]])
def test_a_malformed_block_names_the_block_size_that_was_not_given(fails, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "small").write_bytes(blocks.compress(np.ones(999, np.float32), Coding.FLOAT32, 512).tobytes())
    hint = "(read in blocks of 4096 raw bytes: if it was written in others, give --block-bytes)"
    assert hint in fails(*command, code=1)
    assert "--block-bytes" not in fails(*command, "--block-bytes", "1024", code=1)


def test_wrong_crc_is_a_failed_check(fails, tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(blocks.compress(np.arange(99, dtype=np.float32), 4).tobytes())
    said = fails("decompress", "good", "o", "--stream", "--crc", "12345678", code=1)
    assert "CRC" in said and "--block-bytes" not in said
    np.save("layer.npy", np.arange(99, dtype=np.float32))
    main(["compress", "layer.npy", "good"])
    for option, words in (("--crc", "not 12345678"), ("--raw-bytes", "has raw bytes 396, not 12,345,678")):
        assert words in fails("decompress", "good", "o", option, "12345678", code=1)


def test_short_floats_are_coded_in_elements_of_their_size(cdma: Callable[..., Any]) -> None:
    raw = np.array([0x3F80, 0, 0, 0xC020] * 64, "<u2")
    Path("maps.bin").write_bytes(raw.tobytes())
    header = json.dumps({"maps": {"dtype": "BF16", "shape": [256], "data_offsets": [0, 512]}}).encode()
    Path("maps.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + raw.tobytes())
    for path, options in (("maps.safetensors", ()), ("maps.bin", ("--dtype", "bfloat16"))):
        facts = cdma("compress", path, "out", "--coding", "zvc16", *options, "--json").json
        assert (facts["raw_bytes"], facts["element_bits"]) == (512, 16)
        assert stream_in("out") == blocks.compress(raw, Coding.ZVC16).tobytes()
        assert cdma("info", "out", "--json").json["dtype"] == "bfloat16"
