"""``cdma timeline``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cdma.commands.timeline import alike_blocks, offloads_text
from cdma.workload.data import shipped
from tests.cdma.conftest import ROOT


def rows(outcome: Any) -> dict[str, Any]:
    return rows_by_name(outcome.json)


def rows_by_name(found: Any) -> dict[str, Any]:
    return {row["row"]: row for row in found["rows"]}


def test_rows_and_layers(cdma: Callable[..., Any]) -> None:
    found = cdma("timeline", "alexnet", "--json")
    times = rows(found)
    assert list(times) == ["oracle", "vdnn", "zvc", "exponents", "rle", "zlib"]
    assert times["oracle"]["step_ms"] < times["zvc"]["step_ms"] < times["vdnn"]["step_ms"]
    assert times["vdnn"]["speedup"] == 1.0
    for row in times.values():
        assert row["step_ms"] == pytest.approx(row["forward_ms"] + row["backward_ms"])
        layers = sum(sum(layer["stall_ms"][row["row"]].values()) for layer in found.json["layers"])
        assert row["stall_ms"] == pytest.approx(layers)
    assert times["zvc"]["stall_ms"] == pytest.approx(times["zvc"]["step_ms"] - times["oracle"]["step_ms"])
    # Batch 256: the input has 3 x 227 x 227 values of 4 bytes a sample.
    assert found.json["layers"][0]["offload_bytes"] == 256 * 3 * 227 * 227 * 4


def test_text(cdma: Callable[..., Any]) -> None:
    text = cdma("timeline", "squeezenet", "--gpu", "v100").out
    assert text.startswith("Plain swapping makes the step ") and "% faster.\n" in text
    assert "V100 SXM2" in text and "speed-up" in text and "fire4/concat" in text
    assert "counted in the shipped dump, the others published" in text


@pytest.mark.parametrize(("options", "words"), [
    (("squeezenet", "--gpu", "b200", "--schedule", "queue", "--ahead", "all"), "hides behind computing"),
    (("llama", "--gpu", "a100", "--shards", 8, "--schedule", "queue"), "exponents it is 1."),
    (("alexnet", "--link", 400), "the engine gains nothing"),
    (("vgg16", "--policy", "budget", "--budget", 1e-6), "Nothing is swapped")])
def test_the_answer_comes_first(cdma: Callable[..., Any], options: tuple[Any, ...], words: str) -> None:
    assert words in cdma("timeline", *options).out.partition("\n")[0]


def test_schedules(cdma: Callable[..., Any]) -> None:
    queue = ("--schedule", "queue")
    layer, block, memory, free = (
        rows(cdma("timeline", "squeezenet", "--memory", 8, *options, "--json"))
        for options in ((), (*queue, "--ahead", "1block"), queue, (*queue, "--ahead", "all")))
    assert layer["oracle"]["step_ms"] == pytest.approx(block["oracle"]["step_ms"])
    for row in ("vdnn", "zvc"):
        assert layer[row]["step_ms"] > block[row]["step_ms"] > memory[row]["step_ms"] > free[row]["step_ms"]
        assert block[row]["memory_bytes"] < memory[row]["memory_bytes"] <= 8e9 < free[row]["memory_bytes"]
        assert block[row]["moved_bytes"] > memory[row]["moved_bytes"] >= free[row]["moved_bytes"]
    assert "each layer waits for the transfers beside it:" in cdma("timeline", "alexnet").out
    for given, says in ((("--ahead", "8blocks"), "8 blocks:"), (("--ahead", "1block"), "1 block:"),
                        ((), "as far as 12 GB allow:"), (("--ahead", "all"), "no limit:")):
        text = cdma("timeline", "alexnet", "--schedule", "queue", *given, "--plot", "a.svg").out
        assert f"transfers have a queue, look-ahead {says}" in text
    assert "look-ahead as far as 12 GB allow; x is" in cdma("timeline", "--paper", "--schedule", "queue").out


def test_a_step_that_does_not_fit(cdma: Callable[..., Any]) -> None:
    # 8.03 billion parameters, four times in float32 for Adam, are 128.5 GB.
    call = ("timeline", "llama", "--gpu", "h100")
    assert [row["fits"] for row in cdma(*call, "--json").json["rows"]] == [False] * 6
    text = cdma(*call).out
    assert "Does not fit the 80 GB of the device: oracle (187.5), vdnn (139.1), zvc (139.1)" in text
    assert "(--shards)" in text
    shared = cdma(*call, "--shards", 8, "--batch", 2)
    assert "Does not fit the 80 GB of the device: oracle (134.2)\n" in shared.out
    assert "Does not fit" not in cdma(*call, "--shards", 8).out


def test_budget(cdma: Callable[..., Any]) -> None:
    found = rows(cdma("timeline", "llama", "--gpu", "h100", "--policy", "budget", "--budget", 10, "--json"))
    # The largest tensors have 2 bytes for each of 8,192 x 14,336 hidden features.
    assert found["vdnn"]["moved_bytes"] == pytest.approx(2 * 10e9, abs=2 * 2 * 8192 * 14336)
    assert found["vdnn"]["moved_bytes"] <= 2 * 10e9


@pytest.mark.parametrize("command", ["timeline", "plan"])
def test_a_profile_of_a_cpu_is_warned_of(command: str, cdma: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(json.dumps({"batch": 1, "input": [1, 10, 10], "layers": [
        {"kind": "conv", "name": "a", "channels": 2, "kernel": 1},
        {"kind": "conv", "name": "b", "channels": 2, "kernel": 1}]}))
    layers = {name: {"forward_ms": 3, "backward_ms": 5} for name in "ab"}
    warned = {}
    for device, name in (("cpu", None), ("cuda", "NVIDIA H200"), (None, None)):
        (tmp_path / "times.json").write_text(json.dumps(
            {"format": "cdma-profile", "version": 1, "device": device, "device_name": name, "layers": layers}
            if device else layers))
        done = cdma(command, "net.json", "--profile", "times.json", "--gpu", "v100")
        assert done.code == 0, done.err
        warned[device] = done.err
    assert warned == {
        "cpu": "cdma: warning: times.json was measured on a CPU, but the model is of a GPU, V100 SXM2: measure the "
               "times there, or leave --profile out\n", "cuda": "", None: ""}


def test_the_device_of_a_profile_is_told(cdma: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(json.dumps({"batch": 1, "input": [1, 10, 10], "layers": [
        {"kind": "conv", "name": "a", "channels": 2, "kernel": 1}]}))
    (tmp_path / "times.json").write_text(json.dumps(
        {"format": "cdma-profile", "version": 1, "device": "cuda", "device_name": "NVIDIA H200",
         "layers": {"a": {"forward_ms": 3, "backward_ms": 5}}}))
    assert "times from times.json, measured on NVIDIA H200;" in cdma("timeline", "net.json", "--profile",
                                                                      "times.json").out


@pytest.mark.parametrize("call", [("timeline", "alexnet", "--plot"), ("plan", "--tune", "--plot"),
                                  ("timing", "--sweep", "--liberty", "cells.lib", "--plot")], ids=" ".join)
def test_the_suffix_of_a_picture_says_its_format(call: tuple[str, ...], fails: Callable[..., str]) -> None:
    for name in ("x.png", "x", "x.svg.gz"):
        assert f"must end in .svg, the format that is written, not '{name}'" in fails(*call, name)
    assert "gone is not a folder: make it first, or give x.svg another one" in fails(*call, "gone/x.svg")


def test_densities_of_a_dump(cdma: Callable[..., Any]) -> None:
    found = cdma("timeline", "squeezenet", "--densities", shipped(), "--json").json
    fillings = {name: values for layer in found["layers"] for name, values in layer["fillings"].items()}
    assert fillings["fire9/concat"]["density"] == pytest.approx(0.148, abs=1e-3)
    assert fillings["fire9/concat"]["zvc"] == pytest.approx(5.547, abs=1e-3)      # the ratio cdma simulate finds


def test_density_and_engine(cdma: Callable[..., Any]) -> None:
    few = rows(cdma("timeline", "nin", "--density", 0.1, "--lanes", 1, "--beat-bytes", 16, "--clock", 500, "--json"))
    # 8 GB/s of lanes are less than the link: compression cannot help.
    assert few["zvc"]["step_ms"] > few["vdnn"]["step_ms"]
    # 512 bytes at 1000 MHz, and 64 on the link.
    wide = cdma("timeline", "nin", "--engine", "wide", "--json").json["engine"]
    assert (wide["lane_gb_per_s"], wide["link_port_gb_per_s"], wide["share"]) == (512, 64, "measured cycles")


def test_share_of_a_number_or_file(cdma: Callable[..., Any]) -> None:
    half = cdma("timeline", "nin", "--share", 0.5, "--json").json
    assert half["engine"]["share"] == "0.5 of its limit"
    shipped_shares = cdma("timeline", "nin", "--json").json
    own = cdma("timeline", "nin", "--share", ROOT / "bench/performance.json", "--json").json
    # The shipped table is made from that file, of which the rows with six lanes count.
    assert own["rows"] == shipped_shares["rows"]
    assert own["engine"]["share"] == "measured cycles of performance.json"
    transfers = {row["row"]: row["transfer_ms"] for row in half["rows"]}
    assert transfers["zvc"] == pytest.approx(2 * transfers["vdnn"] / rows_by_name(half)["zvc"]["ratio"], rel=0.02)


def test_policies(cdma: Callable[..., Any]) -> None:
    counts = {policy: cdma("timeline", "vgg16", "--policy", policy, "--json").json["swapped_tensors"]
              for policy in ("all", "conv", "dynamic")}
    # What backward needs but for the last layer's input: data, 13 convolutions, 5 pools, fc6.
    assert counts == {"all": 20, "conv": 13, "dynamic": 0}
    tight = cdma("timeline", "vgg16", "--policy", "dynamic", "--memory", 9, "--json").json
    assert tight["swapped_tensors"] == 13
    big = cdma("timeline", "vgg16", "--policy", "lms", "--least", "1G", "--use", 0, "--json").json
    assert big["swapped_tensors"] == 2                    # conv1_1 and conv1_2 have 1.5 GiB, no other 1 GB


def test_gantt(cdma: Callable[..., Any], tmp_path: Path) -> None:
    assert "plot: out.svg" in cdma("timeline", "overfeat", "--plot", "out.svg").out
    assert (tmp_path / "out.svg").read_text().startswith("<svg")


def test_paper(cdma: Callable[..., Any]) -> None:
    found = cdma("timeline", "--paper", "--json").json
    assert [entry["network"] for entry in found["networks"]] == [
        "alexnet", "overfeat", "nin", "vgg16", "squeezenet", "googlenet"]
    assert [line["paper"] for line in found["beside"]] == [
        "2.6", "2.6", "13.8", "32 % (arXiv version)", "61 % (arXiv version)"]
    gains = [100 * (next(row for row in entry["rows"] if row["row"] == "zvc")["speedup"] - 1)
             for entry in found["networks"]]
    assert found["beside"][3]["here"] == f"{sum(gains) / 6:.0f} %"
    text = cdma("timeline", "--paper", "--gpu", "titan-xp").out
    assert "53 % (HPCA)" in text and "googlenet" in text
    head, dashes = text.splitlines()[2:4]
    assert len(dashes.split()) == len(re.split("  +", head)) == 14 and "exponents x" in head


def test_a_row_names_three_tensors_and_counts_the_rest() -> None:
    assert offloads_text([]) == "" and offloads_text(["a", "b", "c"]) == "a, b, c"
    assert offloads_text(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


@pytest.mark.parametrize(("given", "names"), [
    ("a/x b1/x b2/x 1.5,b3/x c", "a/x b1..2/x b3/x c"), ("b1/x b3/x", "b1/x b3/x"), ("b1/x c2/x", "b1/x c2/x"),
    ("b1/x b1/y b2/x b2/y", "b1..2/x b1..2/y"), ("1.000000001,b1/x b2/x", "b1..2/x"), ("", "")])
def test_alike_layers_of_blocks_are_one_row(given: str, names: str) -> None:
    layers = [{"layer": name.rpartition(",")[2], "forward_ms": float(name.rpartition(",")[0] or 1), "backward_ms": 2.0,
               "offload_bytes": 8, "offloads": [], "stall_ms": {}} for name in given.split()]
    assert [one["layer"] for one in alike_blocks(layers)] == names.split()


def test_a_row_of_blocks_has_their_mean_stalls_and_all_that_they_offload() -> None:
    layers = [{"layer": f"b{n}/a", "forward_ms": 1.0, "backward_ms": 2.0, "offload_bytes": 300,
               "offloads": [f"b{n - 1}/b", f"b{n}/a", "data"], "stall_ms": {"vdnn": {"forward": n, "backward": 2 * n}}}
              for n in (1, 2, 3)]
    assert alike_blocks(layers) == [{
        "layer": "b1..3/a", "forward_ms": 1.0, "backward_ms": 2.0, "offload_bytes": 300,
        "offloads": ["b0..2/b", "b1..3/a", "data"], "stall_ms": {"vdnn": {"forward": 2.0, "backward": 4.0}}}]
    other = layers[0] | {"layer": "b4/a", "offload_bytes": 100}
    assert [one["layer"] for one in alike_blocks([*layers, other])] == ["b1..3/a", "b4/a"]


def test_list(cdma: Callable[..., Any]) -> None:
    assert "138,357,544" in cdma("timeline", "--list").out
    found = cdma("timeline", "--list", "--json").json
    assert len(found["networks"]) == 14
    assert found["gpus"][4]["peaks"]["float8"] == 1979 and "H100 data sheet" in cdma("timeline", "--list").out


def test_types_and_efficiencies(cdma: Callable[..., Any]) -> None:
    found = {types: cdma("timeline", "nin", "--gpu", "h100", *types, "--json").json
             for types in ((), ("--compute", "tf32"), ("--dtype", "bfloat16"), ("--efficiency", "0.9"),
                           ("--efficiency", "attention=0.9"))}
    alone = {types: one["rows"][0]["step_ms"] for types, one in found.items()}
    assert alone["--dtype", "bfloat16"] < alone["--compute", "tf32"] < alone[()]
    assert alone["--efficiency", "0.9"] < alone["--efficiency", "attention=0.9"] == alone[()]
    assert found["--dtype", "bfloat16"]["compute"] == "bfloat16"
    assert 2 * found["--dtype", "bfloat16"]["rows"][1]["moved_bytes"] == found[()]["rows"][1]["moved_bytes"]
    assert found[()]["link_gb_per_s"] == 51.2
    assert "float32 computed in tf32, on H100 SXM;" in cdma("timeline", "nin", "--gpu", "h100", "--compute", "tf32").out


def test_decoders(cdma: Callable[..., Any]) -> None:
    call = ("timeline", "gpt2", "--gpu", "h100", "--positions", 256, "--batch", 2)
    found = cdma(*call, "--json").json
    assert (found["dtype"], found["compute"], found["link_gb_per_s"]) == ("bfloat16", "bfloat16", 51.2)
    # The port of the paper's engine would limit such a link.
    assert found["engine"]["preset"] == "wide"
    assert len(found["layers"]) == 12 * 10 + 4
    text = cdma(*call).out
    assert "block1..12/mlp/gelu" in text and "block3/mlp/gelu" not in text
    assert "rows of several blocks have the times of one, and mean stalls" in text
