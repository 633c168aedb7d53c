"""simulate: rows per array, narrowing, failures with their place, and every way to get it wrong."""

from pathlib import Path

import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec import lines as zvc
from cdma.golden.codec.coding import Coding
from cdma.measure import simulation
from cdma.measure.arrays import arrays_with_codings
from cdma.verif.core import simulate as core_simulate
from cdma.workload.dumps.narrow import narrow


@pytest.fixture
def dump(tmp_path: Path) -> dict[str, np.ndarray]:
    """Small arrays of several types, in dump.npz."""
    rng = np.random.default_rng(5)
    arrays = {"f32": np.maximum(rng.standard_normal((3, 7, 11)), 0).astype(np.float32),
              "f16": np.maximum(rng.standard_normal(500), 0).astype(np.float16),
              "i8": rng.integers(0, 3, 300).astype(np.int8)}
    np.savez(tmp_path / "dump.npz", allow_pickle=False, **arrays)
    return arrays


def test_every_array_with_elements_of_its_own_size(cdma, build_dir: Path, dump: dict[str, np.ndarray]) -> None:
    result = cdma("simulate", "dump.npz", "--lines", "--build-dir", build_dir, "--json").json
    assert result["passed"] is True
    assert {row["name"]: row["element_bits"] for row in result["arrays"]} == {"f32": 32, "f16": 16, "i8": 8}
    for row in result["arrays"]:
        array = dump[row["name"]]
        packed = zvc.packed_bytes(array, row["element_bits"] // 8)
        assert (row["raw_bytes"], row["packed_bytes"]) == (array.nbytes, packed)
        assert row["ratio"] == pytest.approx(array.nbytes / packed)
        assert row["density"] == pytest.approx(np.count_nonzero(array) / array.size)
        assert row["passed"] is True
        assert row["difference"] is None
    assert result["ratio"] == pytest.approx(result["raw_bytes"] / result["packed_bytes"])


@pytest.mark.parametrize(("options", "form"), [
    (["--element", 16], "float16"), (["--element", 16, "--narrow", "bfloat16"], "bfloat16"),
    (["--element", 8], "float8_e4m3"), (["--element", 8, "--narrow", "none"], None)])
def test_smaller_elements_narrow_floats(cdma, build_dir: Path, dump: dict[str, np.ndarray], options: list,
                                        form: str | None) -> None:
    element_bytes = options[1] // 8
    coded = narrow(dump["f32"], element_bytes, form) if form else dump["f32"]
    result = cdma("simulate", "dump.npz", "--lines", "--array", "f32", *options, "--build-dir", build_dir,
                  "--json").json
    (row,) = result["arrays"]
    assert row["raw_bytes"] == coded.nbytes
    assert row["packed_bytes"] == zvc.packed_bytes(coded, element_bytes)
    assert row["passed"] is True


def test_table_with_stalls_and_a_raw_file(cdma, build_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "raw.bin").write_bytes(bytes(range(200)))
    outcome = cdma("simulate", "raw.bin", "--lines", "--element", 8, "--stalls", 0.4, "--seed", 7, "--build-dir",
                   build_dir)
    assert (outcome.code, outcome.err) == (0, "")
    row = next(line for line in outcome.out.splitlines() if line.startswith("raw.bin"))
    assert row.endswith("pass")
    assert "1 passed, 0 failed" in outcome.out


def test_short_floats_as_they_are_and_narrowed(cdma, build_dir: Path) -> None:
    numbers = np.maximum(np.random.default_rng(6).standard_normal(600), 0).astype(np.float32)
    codes = (numbers.view(np.uint32) >> 16).astype("<u2")
    Path("raw.bin").write_bytes(codes.tobytes())
    options = ("--dtype", "bfloat16", "--build-dir", build_dir, "--json")
    (row,) = cdma("simulate", "raw.bin", "--lines", *options).json["arrays"]
    assert (row["element_bits"], row["packed_bytes"], row["passed"]) == (16, zvc.packed_bytes(codes, 2), True)
    (row,) = cdma("simulate", "raw.bin", "--lines", "--element", 8, *options).json["arrays"]
    exact = (codes.astype(np.uint32) << 16).view(np.float32)
    assert (row["raw_bytes"], row["packed_bytes"]) == (600, zvc.packed_bytes(narrow(exact, 1), 1))


def test_arrays_of_several_dumps_are_told_apart(cdma, build_dir: Path) -> None:
    np.savez("a.npz", x=np.ones(3, np.float32))
    np.savez("b.npz", x=np.zeros(3, np.float32))
    result = cdma("simulate", "a.npz", "b.npz", "--lines", "--build-dir", build_dir, "--json").json
    assert [row["name"] for row in result["arrays"]] == ["a:x", "b:x"]


def test_the_block_cores(cdma, build_dir: Path, dump: dict[str, np.ndarray]) -> None:
    result = cdma("simulate", "dump.npz", "--blocks", "--build-dir", build_dir, "--json").json
    assert result["passed"] is True
    assert [(row["name"], row["coding"]) for row in result["arrays"]] == [
        ("f32", "float32"), ("f16", "bfloat16"), ("i8", "bfloat16")]
    for row in result["arrays"]:
        packed = blocks.compress(dump[row["name"]], Coding[row["coding"].upper()]).size
        assert (row["raw_bytes"], row["packed_bytes"]) == (dump[row["name"]].nbytes, packed)
    assert [total["coding"] for total in result["codings"]] == ["float32", "bfloat16"]
    options = ("--array", "f32", "--build-dir", build_dir)
    text = cdma("simulate", "dump.npz", "--blocks", "--coding", "zvc8", *options).out
    assert "f32    zvc8" in text
    rounded = cdma("simulate", "dump.npz", "--blocks", "--element", 16, "--narrow", "bfloat16", "--json", *options).json
    assert [row["coding"] for row in rounded["arrays"]] == ["bfloat16"]
    assert "1 passed, 0 failed" in text


@pytest.mark.parametrize(("form", "stored"), [(None, "bfloat16"), ("float16", "float16")])
def test_values_are_narrowed_for_the_coding_that_is_asked_for(dump: dict[str, np.ndarray], tmp_path: Path,
                                                              form: str | None, stored: str) -> None:
    (sent,) = arrays_with_codings([tmp_path / "dump.npz"], ["f32"], 16, form, coding="bfloat16")
    assert sent.coding is Coding.BFLOAT16
    assert sent.array.tobytes() == narrow(dump["f32"], 2, stored).tobytes()


def test_codings_are_chosen_among_those_that_are_built(tmp_path: Path) -> None:
    """float32 that holds bfloat16 values, for an engine with all codings, and for others."""
    values = np.random.default_rng(7).standard_normal(4000).astype(np.float32)
    np.save(tmp_path / "short.npy", (values.view("<u4") & 0xFFFF0000).view(np.float32))

    def coding(element: int | None, *built: Coding) -> Coding:
        (sent,) = arrays_with_codings([tmp_path / "short.npy"], None, element, "none", built=built)
        return sent.coding

    assert coding(None, *Coding) is Coding.BFLOAT16
    assert coding(None, Coding.ZVC32, Coding.FLOAT32) is Coding.FLOAT32
    assert coding(16, Coding.ZVC16, Coding.FLOAT32) is Coding.ZVC16
    # Not built: it is refused by its name when the engine is simulated.
    assert coding(8, Coding.ZVC32) is Coding.ZVC8


def test_a_difference_is_named_and_fails(cdma, monkeypatch: pytest.MonkeyPatch, build_dir: Path,
                                         dump: dict[str, np.ndarray]) -> None:
    whole = core_simulate.simulate

    def one_wrong(*arguments, **options):
        first, *rest = whole(*arguments, **options)
        return [first | {"passed": False, "difference": "compressor: byte 4 (line 0) is 00, expected 01"}, *rest]

    monkeypatch.setattr(simulation, "simulate", one_wrong)
    outcome = cdma("simulate", "dump.npz", "--lines", "--array", "f32", "--build-dir", build_dir)
    assert outcome.code == 1
    assert "FAIL: compressor: byte 4 (line 0)" in outcome.out
    assert outcome.err == "cdma: error: f32: compressor: byte 4 (line 0) is 00, expected 01\n"
