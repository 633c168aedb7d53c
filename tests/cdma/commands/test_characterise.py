"""``cdma characterise``: verdict, tables, JSON, the page, and mistakes."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from cdma.golden.codec import blocks
from cdma.golden.codec import lines as zvc
from cdma.golden.codec.coding import Coding
from cdma.report.characterise_page import _zeros
from cdma.workload.characterise.arrays import characterise
from cdma.workload.characterise.baselines import rle_bytes
from cdma.workload.data import SUMS


@pytest.fixture
def dump(tmp_path: Path) -> dict[str, np.ndarray]:
    """Two layers at two steps of a training, in dump.npz."""
    rng = np.random.default_rng(5)
    arrays = {f"p{step:03d}/{layer}": np.where(rng.random(shape) < share, rng.standard_normal(shape), 0).astype(
        np.float32) for step, share in ((0, 0.5), (100, 0.25)) for layer, shape in
        (("conv<1>", (2, 8, 16, 16)), ("fc", (4, 256)))}
    np.savez(tmp_path / "dump.npz", **arrays)  # type: ignore[arg-type]
    return arrays


def cells(text: str, start: str) -> list[str]:
    """The cells of the first printed row that starts with a word."""
    return next(line for line in text.splitlines() if line.startswith(start)).split()


def test_tables(cdma, dump: dict[str, np.ndarray]) -> None:
    outcome = cdma("characterise", "dump.npz", "--narrow", "float16", "--arrays", "--date", "2026-11-23")
    assert (outcome.code, outcome.err) == (0, "")
    array = dump["p100/fc"]
    every = outcome.out[outcome.out.index("Every array"):]
    row = cells(every, "p100/fc")
    density = np.count_nonzero(array) / array.size
    assert row[1:3] == ["4,096", f"{density:.3f}"]
    assert row[-10] == f"{array.nbytes / zvc.packed_bytes(array, 4):.3f}"
    assert row[-7:-4] == [f"{array.nbytes / blocks.compress(array, coding).size:.3f}"
                          for coding in (Coding.LINES32, Coding.ZVC32, Coding.FLOAT32)]
    assert row[-3:-1] == ["float32", f"{array.nbytes / 12800:.1f}"]
    raw, packed = (sum(size(values) for values in dump.values())
                   for size in (lambda values: values.nbytes, lambda values: blocks.compress(values, 4).size))
    assert cells(every, "in all")[2] == f"{raw:,}"
    assert cells(every, "in all")[-7] == f"{raw / packed:.3f}"
    assert [tuple(line.split()[:2]) for line in outcome.out.splitlines() if line.startswith("float")] == [
        (form, layout) for form in ("float32", "float16") for layout in ("NCHW", "NHWC", "CHWN")]
    over = outcome.out[outcome.out.index("Density over training"):]
    assert cells(over, "layer") == ["layer", "0", "%", "100", "%"]
    assert cells(over, "fc") == ["fc", *(f"{np.count_nonzero(dump[key]) / 1024:.3f}" for key in ("p000/fc", "p100/fc"))]
    steps = outcome.out[outcome.out.index("All arrays of a step"):]
    raw, packed = (sum(size(values) for name, values in dump.items() if name.startswith("p100/"))
                   for size in (lambda values: values.nbytes, lambda values: blocks.compress(values, 4).size))
    row = cells(steps, "100 %")
    assert (row[2], row[-7]) == (f"{raw:,}", f"{raw / packed:.3f}")


def test_the_verdict_comes_first_then_totals_then_groups(cdma) -> None:
    rng = np.random.default_rng(6)
    save_file({f"blocks.{block}.{name}": rng.standard_normal((4, 64, 32)).astype(ml_dtypes.bfloat16)
               for block in range(12) for name in ("qkv", "up")}, "gpt.safetensors")
    outcome = cdma("characterise", "gpt.safetensors", "--link", 25, "--date", "2026-11-23")
    assert outcome.out.startswith("Gains nothing as zeros, 1.")
    assert "use bfloat16 exponent coding; at 25 GB/s that is 1." in " ".join(outcome.out.splitlines()[:2])
    assert re.search(r"\ncdma \d\S*, 2026-11-23; the engine paper at 1000 MHz, a link of 25 GB/s\n", outcome.out)
    assert outcome.out.index("In all, by") < outcome.out.index("Groups of alike arrays")
    rows = outcome.out[outcome.out.index("Groups of alike arrays"):].splitlines()[4:]
    assert [row.split()[:4] for row in rows] == [
        ["blocks.*.qkv", "12", "4x64x32", "bfloat16"], ["blocks.*.up", "12", "4x64x32", "bfloat16"],
        ["in", "all", "24", "bfloat16"]]
    # No array has four dimensions: one layout stands for all.
    assert outcome.out.count("\nbfloat16  NC") == 1 and "NHWC" not in outcome.out
    found = cdma("characterise", "gpt.safetensors", "--link", 25, "--date", "2026-11-23", "--json").json
    assert (found["date"], found["link_gb_per_s"], found["engine"]) == ("2026-11-23", 25, "paper")
    assert outcome.out.splitlines()[0].startswith(found["verdict"]["sentence"][:60])
    assert (len(found["arrays"]), [len(group["members"]) for group in found["groups"]]) == (24, [12, 12])
    group, first = found["groups"][0], found["arrays"][0]
    assert group["members"][0] == first["name"] == "blocks.0.qkv"
    statistics = first["variants"][0]["exponent_statistics"]
    assert sum(statistics["exponents_by_value"].values()) == statistics["nonzero"] == 4 * 64 * 32
    own = [array for array in found["arrays"] if array["name"] in group["members"]]
    assert group["stored"]["best_bytes"] == sum(array["variants"][0]["best_bytes"] for array in own)
    assert group["offload"]["engine_us"] == pytest.approx(sum(array["offload"]["engine_us"] for array in own))
    assert first["offload"]["raw_us"] == pytest.approx(4 * 64 * 32 * 2 / 25e3)


def test_the_verdict_on_the_page_is_what_the_command_says(cdma) -> None:
    page = (Path(__file__).parents[3] / "docs/characterise.md").read_text(encoding="utf-8")
    said = cdma("characterise", SUMS, "--link", 25).out.split("\n\n")[0]
    assert f"$ cdma characterise {SUMS.name} --link 25\n{said}\n```" in page


def test_the_same_date_gives_the_same_report(cdma, dump: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
                                             ) -> None:
    pages = []
    for options in (("--date", "2026-11-23"), ()):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795392000")
        assert cdma("characterise", "dump.npz", "--report", "page.html", *options).code == 0
        pages.append(Path("page.html").read_text(encoding="utf-8"))
    assert pages[0] == pages[1] and ", 2026-11-23." in pages[0]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    assert cdma("characterise", "dump.npz").err == (
        "cdma: error: SOURCE_DATE_EPOCH must be seconds since 1970, not 'soon': correct or unset it\n")


def test_the_best_coding_is_the_one_for_compress(cdma) -> None:
    rng = np.random.default_rng(6)
    arrays = {"dense": rng.standard_normal(5000).astype(ml_dtypes.bfloat16),
              "counts": np.where(rng.random(5000) < 0.3, rng.integers(1, 100, 5000), 0).astype(np.uint8),
              "noise": rng.integers(0, 1 << 16, 5000).astype(np.uint16)}
    save_file(arrays, "net.safetensors")
    facts = cdma("characterise", "net.safetensors", "--report", "page.html", "--arrays", "--jobs", 2,
                 "--json").json
    best = {array["name"]: array["variants"][0]["best"] for array in facts["arrays"]}
    assert best == {"counts": "zvc8", "dense": "bfloat16", "noise": "raw"}
    assert facts["in_all"][0]["best"] == "mixed"
    for entry in facts["arrays"]:
        # What is said of the automatic choice, and of the best one, is what compress does.
        codings = entry["variants"][0]["codings"]
        for coding, key in (("auto", "exponents"), (best[entry["name"]], None)):
            if coding != "raw":
                packed = cdma("compress", "net.safetensors", "packed", "--array", entry["name"], "--coding", coding,
                              "--json").json["packed_bytes"]
                assert packed == (codings[key]["packed_bytes"] if key else min(
                    codings[name]["packed_bytes"] for name in ("tags_first", "exponents")))
    page = _page()
    for name, coding in best.items():
        assert re.search(rf'<tr>[^\n]*>{name}<[^\n]*<td class="left">{coding}</td>', page), name


def test_shipped_dump_and_one_array(cdma) -> None:
    out = cdma("characterise", "--array", "conv1", "--narrow", "float16").out
    assert cells(out, "conv1")[1:5] == ["1", "1x96x32x32", "float32", "393,216"]
    assert "float16  NHWC" in out
    assert "Over training" not in out


def test_raw_elements(cdma, dump: dict[str, np.ndarray]) -> None:
    Path("raw.bin").write_bytes(dump["p000/fc"].tobytes())
    as_numbers = cdma("characterise", "raw.bin", "--element", 32, "--json").json
    as_floats = cdma("characterise", "raw.bin", "--dtype", "<f4", "--json").json
    assert len(as_numbers["in_all"]) == 3
    assert len(as_floats["in_all"]) == 6
    numbers, floats = (found["in_all"][0]["codings"] for found in (as_numbers, as_floats))
    # The type says how long elements are; the values decide the rest.
    assert numbers == floats


def test_raw_elements_of_a_shape_and_a_type_that_numpy_has_not(cdma) -> None:
    maps = np.maximum(np.random.default_rng(4).standard_normal((2, 3, 4, 5)), 0).astype(np.float32)
    codes = (maps.view(np.uint32) >> 16).astype("<u2")
    Path("maps.bin").write_bytes(codes.tobytes())
    found = cdma("characterise", "maps.bin", "--dtype", "bfloat16", "--shape", "2,3,4,5", "--json").json["arrays"][0]
    assert (found["dtype"], found["shape"]) == ("bfloat16", [2, 3, 4, 5])
    # It has 16 bits already, so that nothing is narrowed.
    assert [(variant["layout"], variant["format"]) for variant in found["variants"]] == [
        (layout, "bfloat16") for layout in ("NCHW", "NHWC", "CHWN")]
    moved = np.ascontiguousarray(codes.transpose(0, 2, 3, 1))
    assert found["variants"][1]["codings"]["blocks"]["packed_bytes"] == blocks.compress(moved, 2).size
    assert found["variants"][0]["nonzero"] == np.count_nonzero(maps)


def test_layout_holds_for_all_dumps(cdma) -> None:
    maps = np.maximum(np.random.default_rng(4).standard_normal((2, 3, 4, 5)), 0).astype(np.float32)
    for name in ("a", "b"):
        np.save(f"{name}.npy", maps.transpose(1, 2, 3, 0))
    found = cdma("characterise", "a.npy", "b.npy", "--layout", "CHWN", "--json").json["arrays"]
    assert [array["variants"][0]["layout"] for array in found] == ["CHWN", "CHWN"]
    for array in found:
        nchw = next(variant for variant in array["variants"] if variant["layout"] == "NCHW")
        assert nchw["codings"]["rle"]["packed_bytes"] == rle_bytes(maps, 4)


def _page() -> str:
    """The page, its headings without the names that its contents point at."""
    return re.sub(r'<h2 id="[^"]*">', "<h2>", Path("page.html").read_text(encoding="utf-8"))


def test_report_is_one_page_that_needs_nothing_else(cdma, dump: dict[str, np.ndarray]) -> None:
    outcome = cdma("characterise", "dump.npz", "--report", "page.html")
    assert outcome.out.endswith("report: page.html\n")
    page = _page()
    assert page.startswith("<!doctype html>")
    assert 'name="viewport"' in page
    assert not re.search(r"<script|<link|<img|@import|url\((?!#)|src=|href=\"(?!#)|https?://", page)
    assert "conv<1>" not in page
    assert page.count("conv&lt;1&gt;") >= 4
    assert {tag: page.count(f"<{tag}") for tag in ("svg", "table")} == {
        tag: page.count(f"</{tag}>") for tag in ("svg", "table")}
    headings = re.findall(r"<h2>([^<]*)</h2>", page)
    assert headings == ["In all", "Groups of alike arrays", "Density over training", "Ratio over training", "Exponents",
                        "Runs of zeros", "Clustering"]
    assert page.index("Gains ") < page.index("raw bytes")


def test_histogram_of_runs_has_shares_of_zeros_beside_those_of_chance(cdma) -> None:
    # 16 runs of one zero, 8 of two and 4 of sixteen: shares of 16, 16 and 64 of 96 zeros; 104 elements are not zero.
    flags = [0, 1] * 16 + [0, 0, 1] * 8 + ([0] * 16 + [1]) * 4
    flags += [1] * (200 - len(flags))
    np.savez("runs.npz", a=np.array(flags, np.uint8))
    cdma("characterise", "runs.npz", "--report", "page.html")
    page = _page()
    assert re.findall(r'aria-label="all arrays: ([^"]*)"', page) == ["17%, 17%, 0%, 0%, 67%, 0%, 0%, 0%, 0%, 0%"]
    # By chance, a zero stands alone with d squared, and in a run of two with twice (1 - d) d squared.
    _, expected = _zeros(characterise(["runs.npz"]), [1, 2, 4])
    share = 104 / 200
    for value, lengths in zip(expected, ((1,), (2, 3)), strict=False):
        assert value == pytest.approx(sum(n * share ** 2 * (1 - share) ** (n - 1) for n in lengths))


def test_arrays_without_zeros_and_of_one_block_have_no_plots_of_them(cdma) -> None:
    np.savez("full.npz", a=np.ones(2048, np.float32))
    assert cdma("characterise", "full.npz", "--report", "page.html").code == 0
    page = _page()
    assert "Runs of zeros" not in page
    assert "Clustering" not in page


def test_layers_of_several_dumps_are_kept_apart(cdma) -> None:
    for name, value in (("a.npz", 1), ("b.npz", 0)):
        arrays = {"fc": np.full(8, value, np.float32), "p000/x": np.full(4, value, np.float32)}
        np.savez(name, **arrays)  # type: ignore[arg-type]
    out = cdma("characterise", "a.npz", "b.npz", "--report", "page.html").out
    over = out[out.index("Density over training"):]
    assert (cells(over, "a:x"), cells(over, "b:x")) == (["a:x", "1.000"], ["b:x", "0.000"])
    page = _page()
    # The table has names of arrays, which may begin with a step; runs are shown where there are zeros.
    for part, names in {"<h2>Groups": {"a:fc": 2, "b:fc": 2, "a:x": 1, "b:x": 1, "a:p000/x": 1, "b:p000/x": 1},
                        "<h2>Density over": {"a:x": 1, "b:x": 1}, "<h2>Density<": {"a:fc": 1, "b:fc": 1},
                        "<h2>Exponents": {"a:fc": 1, "a:x": 1}, "<h2>Runs": {"b:fc": 1, "b:x": 1}}.items():
        section = page[page.index(part):].split("<h2>")[1]
        for name in ("a:fc", "b:fc", "a:x", "b:x", "a:p000/x", "b:p000/x"):
            assert section.count(f">{name}<") == names.get(name, 0), (part, name)


def test_one_dump_an_epoch(cdma) -> None:
    for epoch, share in ((10, 0.25), (9, 0.5)):
        np.savez(f"epoch{epoch}.npz", fc=(np.arange(100) < 100 * share).astype(np.float32))
    over = cdma("characterise", "epoch10.npz", "epoch9.npz", "--report", "page.html").out
    over = over[over.index("Density over training"):]
    assert cells(over, "layer") == ["layer", "epoch", "9", "epoch", "10"]
    assert cells(over, "fc") == ["fc", "0.500", "0.250"]
    # The plot of ratios shows the last epoch, wherever it stands among the dumps.
    page = _page()
    section = page[page.index("<h2>Groups"):page.index("<h2>Density over")]
    size = blocks.compress((np.arange(100) < 25).astype(np.float32), Coding.ZVC16).size
    assert section.count(f">{400 / size:.2f}</") == 1
    assert section.count(">fc</") == 1


def test_report_without_steps(cdma) -> None:
    np.savez("plain.npz", a=np.ones((3, 4), np.float32), b=np.zeros((3, 4), np.int8), c=np.zeros(0, np.float32))
    assert cdma("characterise", "plain.npz", "--report", "page.html").code == 0
    page = _page()
    assert "over training" not in page
    assert re.findall(r"<h2>([^<]*)</h2>", page) == ["In all", "Groups of alike arrays", "Density", "Exponents",
                                                     "Runs of zeros"]
