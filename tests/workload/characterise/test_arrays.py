"""Figures of arrays against the codecs on their own, sums over arrays, steps of training, worker processes."""

import zlib
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec import lines as zvc
from cdma.golden.codec.coding import Coding
from cdma.workload.characterise.arrays import CODINGS, Array, Coded, characterise, characterise_array, in_all
from cdma.workload.characterise.baselines import bound_bytes, rle_bytes
from cdma.workload.dumps.narrow import narrow


def maps(seed: int = 0, shape: tuple[int, ...] = (2, 6, 5, 7)) -> np.ndarray:
    """Activations with some of each channel zero."""
    rng = np.random.default_rng(seed)
    return np.maximum(rng.standard_normal(shape) - rng.standard_normal((shape[1], *[1] * (len(shape) - 2))), 0).astype(
        np.float32)


def variant(array: Array, layout: str, narrowed: bool = False) -> Coded:
    (found,) = [coded for coded in array.variants if coded.layout == layout and coded.narrowed == narrowed]
    return found


@pytest.mark.parametrize("narrowed", [False, True])
@pytest.mark.parametrize(("layout", "axes"), [("NCHW", (0, 1, 2, 3)), ("NHWC", (0, 2, 3, 1)), ("CHWN", (1, 2, 3, 0))])
def test_every_coding_in_every_layout(layout: str, axes: tuple[int, ...], narrowed: bool) -> None:
    array = maps(shape=(3, 8, 20, 16))
    found = variant(characterise_array(array, form="float16"), layout, narrowed)
    raw = np.ascontiguousarray((narrow(array, 2, "float16") if narrowed else array).transpose(axes)).tobytes()
    own = 2 if narrowed else 4
    windows = [zlib.compress(raw[at:at + 4096], 6) for at in range(0, len(raw), 4096)]
    assert found.raw_bytes == len(raw)
    assert found.packed == {
        "zvc8": zvc.compress(raw, 1).size, "zvc16": zvc.compress(raw, 2).size, "zvc32": zvc.compress(raw, 4).size,
        "rle": rle_bytes(raw, own), "zlib": sum(map(len, windows)), "blocks": blocks.compress(raw, own).size,
        "tags_first": blocks.compress(raw, 0x10 | own).size,
        "exponents": blocks.compress(raw, 0x20 | own).size}
    assert found.ratio("zlib") == len(raw) / sum(map(len, windows))
    assert set(found.packed) == set(CODINGS)
    for name, size in (dict.fromkeys(CODINGS, own) | {"zvc8": 1, "zvc16": 2, "zvc32": 4}).items():
        elements = np.frombuffer(raw, f"<u{size}")
        bound = bound_bytes(elements.size, int((elements != 0).sum()), size)
        assert found.bounds[name] == pytest.approx(bound)
        assert found.bound(name) == pytest.approx(len(raw) / bound)


def test_the_values_choose_the_exponents() -> None:
    array = np.random.default_rng(2).standard_normal(5000).astype(np.float32)
    stored, narrowed = (variant(characterise_array(array, form="bfloat16"), "NCHW", there) for there in (False, True))
    codes = narrow(array, 2, "bfloat16")
    assert stored.packed["exponents"] == blocks.compress(array, Coding.FLOAT32).size
    assert narrowed.packed["exponents"] == blocks.compress(codes, Coding.BFLOAT16).size
    assert (stored.best, narrowed.best) == ("float32", "bfloat16")
    # A dump's own bfloat16 values are coded as those that were narrowed.
    own = characterise_array(codes.view(ml_dtypes.bfloat16)).stored
    assert (own.packed, own.best) == (narrowed.packed, "bfloat16")
    # As float32 they are still bfloat16 values.
    there = characterise_array(codes.view(ml_dtypes.bfloat16).astype(np.float32)).stored
    assert (there.best, there.best_bytes) == ("bfloat16", blocks.compress(codes.astype("<u4") << 16, 0x22).size)


@pytest.mark.parametrize(("array", "best"), [
    (np.zeros(0, np.float32), "raw"), (np.arange(1, 65, dtype=np.uint8), "raw"),
    (np.arange(1001, dtype=np.uint8) % 2, "bfloat16"),
    (np.arange(1000, dtype=np.uint8) * (np.arange(1000) % 3 < 1), "zvc8"),
    (np.linspace(1, 2, 2000, dtype=np.float32), "float32")])
def test_the_best_coding_has_the_fewest_bytes(array: np.ndarray, best: str) -> None:
    found = characterise_array(array, form=None)
    assert {coded.best for coded in found.variants} == {best}
    assert in_all([found, found])[0].best == best
    other = "raw" if best == "zvc8" else "zvc8"
    assert in_all([found, replace(found, variants=tuple(replace(coded, best=other) for coded in found.variants))])[
        0].best == "mixed"


def test_stored_comes_first_in_the_layout_that_it_has() -> None:
    array = maps()
    there = characterise_array(array, layout="NCHW")
    moved = characterise_array(np.ascontiguousarray(array.transpose(0, 2, 3, 1)), layout="NHWC")
    assert moved.stored.layout == "NHWC"
    assert moved.stored.format == "float32"
    assert not moved.stored.narrowed
    # Exponents are measured in the stored layout only.
    assert replace(moved.stored, exponent_statistics=None) == variant(there, "NHWC")
    assert variant(moved, "CHWN", True) == variant(there, "CHWN", True)


def test_arrays_without_channels_are_the_same_in_all_layouts() -> None:
    found = characterise_array(maps(shape=(4, 33)))
    assert {coded.layout for coded in found.variants} == {"NCHW", "NHWC", "CHWN"}
    assert len({tuple(coded.packed.items()) for coded in found.variants if not coded.narrowed}) == 1


def test_large_arrays_are_narrowed_as_small_ones() -> None:
    array = maps(shape=(1 << 10, 3 << 9))
    assert array.size > 1 << 20
    found = variant(characterise_array(array, form="bfloat16"), "NCHW", True)
    assert found.packed["zvc8"] == zvc.packed_bytes(narrow(array, 2, "bfloat16"), 1)


@pytest.mark.parametrize("kind", [np.int8, np.float16, np.uint16])
def test_short_values_are_not_narrowed(kind: type) -> None:
    assert not any(coded.narrowed for coded in characterise_array(np.ones((4, 5), kind)).variants)


def test_missing_bytes_of_the_last_element_are_zeros() -> None:
    found = characterise_array(np.array([1, 0, 2, 0, 3], np.uint8)).stored
    # Three elements of 16 bits, of which none is zero, and two of 32; the tags are those of a line.
    assert (found.packed["zvc8"], found.packed["zvc16"], found.packed["zvc32"]) == (16 + 3, 8 + 6, 4 + 8)


@pytest.mark.parametrize("size", [0, 64])
def test_nothing_and_zeros_have_no_bound(size: int) -> None:
    found = characterise_array(np.zeros(size, np.float32)).stored
    assert found.bound("zvc32") is None
    assert found.ratio("zvc32") == (size * 4 / 8 if size else None)


@pytest.mark.parametrize(("name", "prefix", "layer", "step", "unit"), [
    ("p020/conv0", "", "conv0", 20, "% of training"), ("step1500/fire4/concat", "", "fire4/concat", 1500, "step"),
    ("epoch3/fc", "run", "run:fc", 3, "epoch"), ("fc", "epoch12", "fc", 12, "epoch"),
    ("fire4/concat", "", "fire4/concat", None, None), ("pool2/out", "", "pool2/out", None, None),
    ("conv1", "net", "net:conv1", None, None), ("p1", "", "p1", None, None)])
def test_names_tell_layer_and_step(name: str, prefix: str, layer: str, step: int | None, unit: str | None) -> None:
    found = characterise_array(np.ones(3, np.float32), name, prefix=prefix)
    assert (found.layer, found.step, found.step_unit) == (layer, step, unit)
    assert found.name == (f"{prefix}:{name}" if prefix else name)


def test_sums_over_arrays() -> None:
    parts = [maps(1), maps(2, (3, 2, 8, 8)), maps(3, (5, 40))]
    found = [characterise_array(part, str(number)) for number, part in enumerate(parts)]
    totals = in_all([*found, characterise_array(np.arange(10, dtype=np.uint8))])
    assert [(total.narrowed, total.layout) for total in totals] == [
        (narrowed, layout) for narrowed in (False, True) for layout in ("NCHW", "NHWC", "CHWN")]
    assert totals[0].raw_bytes == sum(part.nbytes for part in parts) + 10
    assert totals[0].format == "mixed"
    assert totals[3].raw_bytes == sum(part.nbytes for part in parts) // 2
    assert totals[3].format == "bfloat16"
    assert totals[3].density.nonzero == sum(np.count_nonzero(part) for part in parts)
    for coding in CODINGS:
        assert totals[4].packed[coding] == sum(variant(array, "NHWC", True).packed[coding] for array in found)


def save(folder: Path) -> list[Path]:
    """Two dumps of three arrays."""
    np.savez(folder / "epoch1.npz", conv1=maps(1), fc=maps(2, (4, 33)))
    np.savez(folder / "epoch2.npz", conv1=maps(3))
    return [folder / "epoch1.npz", folder / "epoch2.npz"]


def test_dumps_are_measured_in_order(tmp_path: Path) -> None:
    done: list[tuple[str, int, int]] = []
    found = characterise(save(tmp_path), progress=lambda *said: done.append(said))
    assert [array.name for array in found] == ["epoch1:conv1", "epoch1:fc", "epoch2:conv1"]
    assert [array.step for array in found] == [1, 1, 2]
    assert found[1].variants == characterise_array(maps(2, (4, 33))).variants
    assert done == [("characterise", number, 3) for number in (0, 1, 2, 3)]


def test_worker_processes_find_the_same(tmp_path: Path) -> None:
    paths = save(tmp_path)
    assert characterise(paths, jobs=2) == characterise(paths, jobs=1)


def test_errors_of_worker_processes_are_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "words.npz", first=maps(), second=np.array(["a"]))
    with pytest.raises(ValueError, match="only numbers can be coded"):
        characterise([tmp_path / "words.npz"], jobs=2)


def test_chosen_arrays_and_other_files(tmp_path: Path) -> None:
    paths = save(tmp_path)
    assert [array.name for array in characterise(paths[:1], ["fc"])] == ["fc"]
    np.save(tmp_path / "one.npy", maps())
    assert characterise([tmp_path / "one.npy"])[0].variants == characterise_array(maps()).variants
    (tmp_path / "raw.bin").write_bytes(maps().tobytes())
    (raw,) = characterise([tmp_path / "raw.bin"], dtype="<f4", form="bfloat16")
    assert raw.stored.packed == characterise_array(maps()).stored.packed
    assert raw.variants[3].format == "bfloat16"


def test_dumps_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        np.savez(tmp_path / folder / "dump.npz", fc=np.ones(4, np.float32))
    paths = [tmp_path / "a/dump.npz", tmp_path / "b/dump.npz"]
    assert [array.name for array in characterise(paths)] == [f"{path}:fc" for path in paths]


def test_no_worker_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="jobs must be 1 or more worker processes, not 0"):
        characterise([], jobs=0)
