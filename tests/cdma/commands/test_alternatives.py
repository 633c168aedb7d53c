"""``cdma alternatives``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from tests.workload.networks.test_captured import written


def test_answer_and_rows(cdma: Callable[..., Any], tmp_path: Path) -> None:
    call = ("alternatives", "googlenet", "--gpu", "v100", "--memory", 3.5)
    text = cdma(*call, "--all", "--plot", "out.svg").out
    assert "Fastest without loss within 3.5 GB: engine, exponents (async), 1.0" in text
    assert "plot: out.svg" in text and "offload (sync)" in text and "2.5 GB of memory" in text
    picture = ElementTree.parse(tmp_path / "out.svg").getroot()
    said = {entry.text for entry in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"checkpoints", "engine, exponents (async)", "3.5 GB", "does not fit"} <= said
    few, every = (cdma(*call, *more, "--json").json for more in ((), ("--all",)))
    assert {row["name"] for row in few["rows"]} < {row["name"] for row in every["rows"]}
    assert few["fastest_lossless"]["name"] == "engine, exponents"
    assert few["enough"]["slowdown"] == 1.0


def test_memory_enough_and_too_little(cdma: Callable[..., Any]) -> None:
    assert "All of it fits 12 GB: nothing has to be done." in cdma("alternatives", "alexnet", "--gpu", "titan-x").out
    text = cdma("alternatives", "alexnet", "--memory", 0.1).out
    assert "Nothing fits 0.1 GB: a smaller batch is needed, or several devices." in text


def test_sensitivity(cdma: Callable[..., Any]) -> None:
    call = ("alternatives", "alexnet", "--gpu", "titan-xp", "--everything", "--sensitivity")
    found = cdma(*call, "--json").json["sensitivity"]
    changes = list(dict.fromkeys(line["change"] for line in found))
    assert changes == ["as given", "10 us more for each transfer", "50 us more for each transfer", "75% of the link",
                       "50% of the link", "25% of the link", "products and convolutions at 0.3",
                       "products and convolutions at 0.7"]
    slow, half = (next(line for line in found if (line["change"], line["schedule"]) == (change, "layer"))
                  for change in ("as given", "50% of the link"))
    assert half["offload_x"] > slow["offload_x"] > 1
    assert half["gain_percent"]["zvc"] > slow["gain_percent"]["zvc"] > 0
    assert "zvc gains" in cdma(*call).out


def test_the_heading_names_the_sources_that_tensors_have(cdma: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "captured"
    folder.mkdir()
    written(folder)
    arrays: dict[str, Any] = {f"step000003/{name}": np.eye(8, dtype=np.float16)
                              for name in ("data", "conv", "fc", "fc/unsaved")}

    def heading(*call: object) -> list[str]:
        return cdma("alternatives", *call).out.splitlines()[1:3]

    for names, words in (
            (arrays, ""), (["step000003/conv"], ", else ratios by role and type"),
            (["step000003/data"], ", else the table's: 0.38 behind every ReLU, an average that is published")):
        np.savez(folder / "step000003.npz", **{name: arrays[name] for name in names})
        (folder / "manifest.json").write_text(
            '{"format": "cdma-dump", "version": 1, "files": [{"file": "step000003.npz"}]}')
        assert heading("captured", "--gpu", "a100") == [
            "times from the capture, measured on NVIDIA A100-SXM4-40GB;", f"densities: captured{words};"]
        assert f"(captured{words});" in cdma("timeline", "captured", "--gpu", "a100").out
    assert heading("captured", "--gpu", "v100")[0] == (
        "times from its roofline at 0.5 of the peak (those of the capture are of NVIDIA A100-SXM4-40GB);")
    assert heading("gpt2")[1].startswith("densities: no tensor has a ReLU's zeros: ratios by role and type")
    found = cdma("alternatives", "captured", "--gpu", "a100", "--sensitivity", "--json").json["sensitivity"]
    assert not [line for line in found if "products and convolutions" in line["change"]]
