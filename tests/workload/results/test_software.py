"""Compression in software on the GPU: a stored result's figures come to the pages, and none where there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdma.report.software import beside_table, goals_table, peers_table, where
from cdma.workload.results.software import measured, software

DENSE = {"offload_bytes_per_cycle": 43.0, "prefetch_bytes_per_cycle": 44.0, "ratio": 1.39}


def speed(values: str, backend: str, coding: str, **more: Any) -> dict[str, Any]:
    return {"values": values, "backend": backend, "coding": coding, "ratio": 1.386, "encode_gbps": 500.4,
            "decode_gbps": 1100.6} | more


def step(way: str, milliseconds: float, **more: Any) -> dict[str, Any]:
    return {"network": "gpt2", "batch": 8, "way": way, "milliseconds": milliseconds, "identical": True} | more


RESULT: dict[str, Any] = {
    "date": "2026-12-01", "device": "cuda", "card": "NVIDIA H200", "driver": "580.1", "torch": "2.11", "triton": "3.6",
    "bytes": [{"backend": "cuda", "coding": "bfloat16", "stream_equal": True, "back_equal": True}],
    "speeds": [speed("bfloat16 dump", "cuda", "bfloat16", chosen=False, encode_gbps=1.0),
               speed("bfloat16 dump", "cuda", "bfloat16", chosen=True),
               speed("density 0.5", "triton", "zvc16", chosen=False, encode_gbps=777.0),
               speed("bfloat16 dump", "nvcomp", "ANS", encode_gbps=321.0), {"not_run": "no more time"}],
    "copies": [{"copy": "out", "gbps": 55.0}, {"copy": "back", "gbps": 54.0}, {"copy": "both", "gbps": 90.0}],
    "offload": [step("plain", 20.0), step("async", 100.0),
                step("compressed", 80.0, raw_bytes=2.8e9, link_bytes=2.1e9, codec_share=0.085)],
    "sanitizer": [{"not_run": "the tool does not know the device"}]}
"""As tools/measure_gpu.py writes it; tests/torch/test_gpu_command.py reads what it really writes."""


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    (tmp_path / "gpu.json").write_text(json.dumps(RESULT))
    return tmp_path / "gpu.json"


def test_a_stored_result_is_shown(stored: Path) -> None:
    found = software(stored)
    assert "Measured on an NVIDIA H200, driver 580.1, PyTorch 2.11" in where(found["measured"])
    model, gpu, _, other = beside_table(found).rows
    # The model has the card, and the slower way of the link.
    assert {row["gpu_name"] for row in found["steps"]} == {"H200 SXM"} and found["steps"][0]["gb_per_s"] == 54.0
    assert gpu == ["gpt2", "8", "software, measured", "2.80", "1.33", "20.0", "100.0", "80.0", "8.5"]
    assert "not measured" not in model and other[3:] == ["not measured"] * 6
    assert [row[-1] for row in goals_table(found["measured"]).rows] == [
        "yes", "500", "1,101", "777", "1,101", "1.386", "not measured", "yes", "gpt2 100.0 %", "gpt2 8.5 %"]
    assert [row[:4] for row in peers_table(found["measured"], DENSE, 0.3).rows][:2] == [
        ["`cdma.gpu`", "this project", "500", "1,101"], ["nvCOMP, ANS", "measured", "321", "1,101"]]


def test_what_was_not_measured_says_so(tmp_path: Path) -> None:
    found = software(tmp_path / "gpu.json")
    assert where(found["measured"]) == "No GPU has run this yet."
    assert all(row[3:] == ["not measured"] * 6 for row in beside_table(found).rows[1::2])
    assert {row[-1] for row in goals_table(None).rows} == {"not measured", "1.386: the bytes are the golden model's"}
    assert peers_table(None, DENSE, 0.3).rows[0][2:4] == ["not measured"] * 2


def test_a_rehearsal_is_not_shown(stored: Path) -> None:
    stored.write_text(json.dumps(RESULT | {"device": "cpu"}))
    with pytest.raises(ValueError, match="of a rehearsal, whose speeds mean nothing"):
        measured(stored)
