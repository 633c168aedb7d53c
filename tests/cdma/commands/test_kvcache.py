"""``cdma kvcache``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CALL = ("kvcache", "llama", "--context", 8192, "--batch", 128)


def test_rows(cdma: Callable[..., Any]) -> None:
    text = cdma(*CALL).out
    assert "131,072 bytes a token, 137.44 GB; weights 16.06 GB" in text and "rest through the engine" in text
    found = cdma(*CALL, "--json").json
    memory, offload, engine = found["rows"]
    assert [row["row"] for row in found["rows"]] == ["memory", "offload", "engine"]
    assert memory["step_ms"] < engine["step_ms"] < offload["step_ms"]
    # The link is all that limits, and the wide engine's port carries it.
    assert offload["step_ms"] / engine["step_ms"] == pytest.approx(found["measured"]["ratio"], rel=0.01)
    assert found["engine"] == "wide"
    assert "All of it is on the device" in cdma("kvcache", "gpt2", "--context", 64, "--batch", 1).out


def test_pages_and_dumps(cdma: Callable[..., Any], tmp_path: Path) -> None:
    wide = cdma(*CALL, "--page", "2M", "--json").json["rows"][2]
    many = cdma(*CALL, "--page", "2M", "--block", 4096, "--json").json["rows"][2]
    assert wide["page_waste"] > 0.9 > 0.4 > many["page_waste"]
    noise = np.random.default_rng(1).integers(0, 1 << 16, (8, 512), np.uint16).view(np.float16)
    np.savez(tmp_path / "kv.npz", keys=noise, other=np.zeros(4, np.float32))
    found = cdma(*CALL, "--dump", "kv.npz", "--array", "k*", "--json").json["measured"]
    assert (found["dump"], found["arrays"], found["coding"]) == ("kv.npz", ["keys"], "zvc")
    assert found["ratio"] < 1
