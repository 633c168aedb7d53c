"""``cdma train``: the examples through the golden model and through the Verilog."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdma.__main__ import main

BUILD = Path(__file__).resolve().parents[2] / "build/sim"


def train(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    """What the command prints as JSON."""
    assert main(["train", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    told = train(capsys, "--example", "sums", "--golden", "--steps", "2", "--batch", "2")
    assert told["identical"] is True and told["differences"] == []
    assert (told["by"], told["steps"], told["batch"], len(told["losses"])) == ("model", 2, 2, 2)
    assert told["total"]["bytes"] == told["counts"]["moved_bytes"] == sum(row["bytes"] for row in told["rows"])
    assert told["total"]["ratio"] > 1.1
    assert told["total"]["offload_cycles"] is None and told["total"]["deviation"] is None
    assert told["counts"]["restored"] == told["counts"]["moved"] == told["total"]["tensors"]


def test_norms_in_float32_save_bfloat16_values(capsys: pytest.CaptureFixture[str]) -> None:
    """By their type they are float32, and the ratio of the step 1.35."""
    told = train(capsys, "--example", "llama", "--golden")
    assert told["identical"] is True and told["network"] == "Llama"
    (norms,) = (row for row in told["rows"] if (row["dtype"], row["coding"]) == ("float32", "bfloat16"))
    assert norms["ratio"] > 2.3 and norms["bytes"] > 0.15 * told["total"]["bytes"]
    assert told["total"]["ratio"] > 1.45 and told["total"]["gain"] > 1.25


def test_the_verilog(capsys: pytest.CaptureFixture[str]) -> None:
    """The step of the Llama has all types and codings that those of the other examples have; the engine is the one that
    a page's commands compile too."""
    told = train(capsys, "--example", "llama", "--engine", "tiny", "--build-dir", BUILD)
    assert told["identical"] is True
    assert {("bfloat16", "bfloat16"), ("float32", "bfloat16"), ("float32", "float32"), ("int64", "bfloat16")} == {
        (row["dtype"], row["coding"]) for row in told["rows"]}
    assert (told["by"], told["engine"]) == ("verilog", "cdma_tiny_engine")
    assert told["total"]["bytes"] > 2 << 20
    assert abs(told["total"]["deviation"]) < 0.05
    assert told["total"]["gain"] > 0.9      # one lane is as fast as its link


def test_pages_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--example", "digits", "--golden", "--batch", "4", "--set", "page_lists=true", "--page",
                 "4K"]) == 0
    text = capsys.readouterr().out
    assert "streams are in pages of 4,096 bytes" in " ".join(text.split())
    assert "are those of plain training, bit for bit: passed" in text


@pytest.mark.parametrize(("call", "message"), [
    (("--example", "mnist"), "there is no example 'mnist': there are digits, sums, llama"),
    (("--example", "sums", "--batch", "5000"), "a batch must have 1 to 1024 samples, not 5000"),
    (("--example", "digits", "--golden", "--page", "4K"), "cdma_engine has no page lists: build them"),
    (("--example", "digits", "--memory", "3M"), "the memories must have a power of two of bytes, not 3145728")])
def test_mistakes(call: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", *call]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_full_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--example", "digits", "--golden", "--memory", "1M"]) == 1
    error = capsys.readouterr().err
    assert "bytes: " in error and "give the engine more memory" in error and error.count("\n") == 1


def test_what_differs_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from cdma.engines import DriverEngine

    prefetch = DriverEngine.prefetch

    def spoiled(self: DriverEngine, handle: Any) -> Any:
        data = prefetch(self, handle)
        data[2] ^= 1
        return data

    monkeypatch.setattr(DriverEngine, "prefetch", spoiled)
    assert main(["train", "--example", "digits", "--golden", "--batch", "4"]) == 1
    told = capsys.readouterr()
    assert "are not those of plain training: failed" in told.out
    assert "training through cdma_engine differs from plain training: the gradient of" in told.err
