"""Densities and ratios of a network's tensors: cases worked out on paper, the table, dumps and files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cdma.workload.data import DIGITS, SUMS, shipped
from cdma.workload.dumps import entries, load
from cdma.workload.json_file import read_json
from cdma.workload.networks.catalog import PAPER, load_network
from cdma.workload.networks.tensors import tensors
from cdma.workload.results.figures import alike
from cdma.workload.timeline.densities import (
    PAPER_AVERAGE,
    default_fillings,
    fillings_from_file,
    measured,
    published_networks,
    sources,
    uniform,
)
from cdma.workload.timeline.ratios import TABLE, by_role
from tests.workload.timeline.samples import three
from tools import measure_ratios


def test_fillings() -> None:
    # A block stream of 4 KiB blocks: 4 bytes of header, a tag bit for 4 bytes, and the values.
    assert uniform(0.0).ratios["zvc"] == pytest.approx(4096 / (4 + 128))
    assert uniform(0.5).ratios["zvc"] == pytest.approx(4096 / (4 + 128 + 2048), rel=1e-3)
    assert uniform(1.0).ratios["zvc"] == pytest.approx(4096 / 4100)
    assert uniform(1.0).ratios["rle"] == pytest.approx(512 / 513)
    array = np.zeros(1024, np.float32)
    array[::4] = 1.5
    array[1] = -0.0                                       # not all of its bits are zero
    assert measured(array).density == 257 / 1024
    with pytest.raises(ValueError, match="must be a number from 0 to 1"):
        uniform(1.5)


def table(network: str) -> dict[str, float]:
    """The densities of a network's tensors with zeros, if none are given."""
    plan = tensors(load_network(network))
    return {name: filling.density for name, filling in default_fillings(plan).items() if plan.tensors[name].sparse}


def test_networks_without_published_densities() -> None:
    for name in set(PAPER) - set(published_networks()):
        assert set(table(name).values()) == {PAPER_AVERAGE}
        assert "0.38 behind every ReLU" in sources(tensors(load_network(name)))
    nin = tensors(load_network("nin"))
    assert default_fillings(nin)["data"].density == 1.0
    assert default_fillings(nin, 0.2)["conv1"].density == 0.2
    assert default_fillings(nin, factor=2.0)["conv1"].density == pytest.approx(0.76)
    assert default_fillings(nin, factor=3.0)["conv1"].density == 1.0


def test_networks_of_today() -> None:
    relu2, gpt2 = tensors(load_network("relu2")), tensors(load_network("gpt2"))
    assert set(table("relu2").values()) == {0.42}
    assert "0.42 behind every ReLU, counted in a small network" in sources(relu2)
    assert {filling.density for name, filling in default_fillings(relu2, 0.2).items()
            if relu2.tensors[name].sparse} == {0.2}
    assert not table("gpt2")
    assert sources(gpt2).startswith("no tensor has a ReLU's zeros")


@pytest.mark.parametrize("network", published_networks())
def test_every_tensor_of_a_published_network_has_its_own_density(network: str) -> None:
    file = Path(__file__).parents[3] / "workload/networks/densities.json"
    own = json.loads(file.read_text(encoding="utf-8"))["networks"][network]
    names = [name for part in own for name in part["tensors"]]
    assert sorted(names) == sorted(table(network))
    assert "CNNergy" in own[-1]["source"]
    assert "published" in sources(tensors(load_network(network)))


def test_published_zeros_by_hand() -> None:
    alexnet, vgg16, googlenet = map(table, ("alexnet", "vgg16", "googlenet"))
    assert alexnet["conv1"] == alexnet["norm1"] == pytest.approx(1 - 0.5102)
    # 0.387 of the maps of 27 x 27 with a border of two are zeros. The source has the inputs of conv4 padded, too, and
    # they are the output of conv3, which it has without a border: 0.793 and 0.7244.
    assert alexnet["pool1"] == pytest.approx((1 - 0.387) * 31 ** 2 / 27 ** 2, abs=5e-5)
    assert alexnet["conv3"] * 13 ** 2 / 15 ** 2 == pytest.approx(1 - 0.793, abs=5e-4)
    assert vgg16["pool4"] == pytest.approx((1 - 0.815) * 16 ** 2 / 14 ** 2, abs=5e-5)
    assert vgg16["pool5"] == pytest.approx(1 - 0.8755)
    # Four branches of 64, 128, 32 and 32 maps, beside the published density of them together.
    branches = 64 * 0.3954 + 128 * 0.5640 + 32 * 0.5667 + 32 * 0.5196
    assert googlenet["inception_3a/concat"] == pytest.approx(1 - branches / 256, abs=1e-4)
    # After the next module only the density behind the pooling is published.
    branches = 128 * 0.7952 + 192 * 0.8770 + 96 * 0.8909 + 64 * 0.8324
    assert googlenet["inception_3b/concat"] == pytest.approx(1 - branches / 480, abs=5e-5)
    assert googlenet["pool3"] == pytest.approx(1 - 0.6045)


def test_squeezenet_has_what_was_counted_in_the_dump() -> None:
    found = table("squeezenet")
    with np.load(shipped()) as dump:
        counted = {name: np.count_nonzero(dump[name].view(np.uint32)) / dump[name].size for name in dump.files}
    for name, density in counted.items():
        assert found[name] == pytest.approx(density, abs=5e-4), name
    # The dump has no fire2/concat: two halves of 64 maps, published for the version 1.1.
    assert found["fire2/concat"] == pytest.approx(1 - (0.4753 + 0.6240) / 2, abs=1e-4)


def sparse_arrays() -> Iterator[np.ndarray]:
    for dump in (shipped(), DIGITS):
        for file, name in entries(dump):
            if dump != DIGITS or name.startswith("p100/"):
                yield load(file, name)[name]


def test_samples_are_like_the_arrays_of_their_density() -> None:
    # Zeros at random places give a somewhat lower ratio than those of real maps, which lie together.
    shares = []
    for array in sparse_arrays():
        real = measured(array)
        sample = uniform(real.density)
        assert sample.ratios["zvc"] == pytest.approx(real.ratios["zvc"], rel=0.02)
        shares.append(sample.ratios["exponents"] / real.ratios["exponents"])
    assert 0.9 < min(shares) <= max(shares) < 1.05
    assert 0.95 < np.mean(shares) < 1.0


def test_samples_of_other_types() -> None:
    # A tag bit for each element of 2 bytes, or of 1. Exponents of bfloat16 code the bits of float16 too.
    half, byte, short = (uniform(0.5, dtype) for dtype in ("float16", "float8_e4m3", "bfloat16"))
    assert half.ratios["exponents"] > 1.1 * half.ratios["zvc"]
    assert half.ratios["zvc"] == pytest.approx(4096 / (4 + 256 + 2048), rel=1e-3)
    assert byte.ratios["exponents"] == byte.ratios["zvc"] == pytest.approx(4096 / (4 + 512 + 2048), rel=1e-3)
    assert short.ratios["zvc"] == half.ratios["zvc"]
    assert short.ratios["exponents"] > 1.1 * short.ratios["zvc"]


def test_fillings_from_files(tmp_path: Path) -> None:
    plan = three()
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"a": 0.25, "elsewhere": 0.5}))
    assert [fillings_from_file(path, plan, 0.75)[name].density for name in ("data", "a", "b")] == [1.0, 0.25, 0.75]
    np.savez(tmp_path / "d.npz", a=np.zeros((2, 64), np.float32), b=np.ones((2, 64), np.float16))
    found = fillings_from_file(tmp_path / "d.npz", plan)
    assert (found["a"].density, found["b"].density) == (0.0, 1.0)
    steps = {"p000/a": np.ones(4096, np.float32), "p100/a": np.zeros(4096, np.float32), "p100/other": np.ones(4)}
    np.savez(tmp_path / "d.npz", **steps)
    found = fillings_from_file(tmp_path / "d.npz", plan)
    together = measured(np.concatenate([steps["p000/a"], steps["p100/a"]]))
    assert found["a"].density == together.density == 0.5
    # Both arrays are whole blocks and windows, so that they are coded as they are behind each other.
    for name in ("zvc", "exponents", "rle", "zlib"):
        assert found["a"].ratios[name] == pytest.approx(together.ratios[name], rel=1e-3)
    for content, says in (("{}", "has none of three's tensors"), ("[]", "must have an object"), ("{", "is not JSON"),
                          ('{"a": 2}', "must be a number from 0 to 1")):
        path.write_text(content)
        with pytest.raises(ValueError, match=says):
            fillings_from_file(path, plan)
    with pytest.raises(ValueError, match="cannot read"):
        fillings_from_file(tmp_path / "gone.json", plan)


def test_ratios_by_role_are_what_the_tool_measures() -> None:
    written = read_json(TABLE)
    assert alike(measure_ratios.ratios(), written["roles"])
    for row in written["roles"]:
        assert by_role(row["role"], row["dtype"]).ratios == row["ratios"]
    # Every array of the dump has one role.
    names = [name for row in written["roles"] if row["dtype"] == "bfloat16" for name in row["arrays"]]
    assert len(names) == len(set(names))
    assert set(names) == {name for _, name in entries(SUMS)}


def test_dense_values_gain_by_exponents_only() -> None:
    for role in ("sum", "norm", "attention", "linear", "gelu", "swiglu"):
        short, long = by_role(role, "bfloat16").ratios, by_role(role, "float32").ratios
        assert short["zvc"] < 1.01
        # The same bits of exponents are saved on values that are twice as long.
        assert 1 - 1 / short["exponents"] == pytest.approx(2 * (1 - 1 / long["exponents"]), rel=0.1)
    # No array of a network's input was measured: 4 bytes of header for each block of 4096.
    assert by_role("input", "float32").ratios["exponents"] == pytest.approx(4096 / 4100)
