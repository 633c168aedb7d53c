"""``cdma results``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cdma.conftest import ROOT


def test_text_has_all_sections(cdma: Callable[..., Any]) -> None:
    text = cdma("results").out
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    for title in (line[3:] for line in page.splitlines() if line.startswith("## ")):
        assert f"\n{title}\n{'-' * len(title)}\n" in text


def test_json(cdma: Callable[..., Any]) -> None:
    found = cdma("results", "--json").json
    assert [line["paper"]["average_gain"] for line in found["headlines"]] == [32, 53]
    assert found["vdnn"]["paper"] == {"loss": 18.0, "memory_gb": 28.0}
    # What stands beside the paper's figures is what the timeline says by itself.
    alone = cdma("timeline", "--paper", "--gpu", "titan-xp", "--json").json["beside"]
    here = found["headlines"][1]["here"]
    assert [line["here"] for line in alone] == [
        f"{here['average_ratio']:.2f}", f"{here['tensor_ratio']:.2f}", f"{here['highest_ratio']:.2f}",
        f"{here['average_gain']:.0f} %", f"{here['highest_gain']:.0f} %"]


def test_pages_that_are_written(cdma: Callable[..., Any], tmp_path: Path) -> None:
    assert cdma("results", "--output", "r.md", "--report", "r.html").out == "wrote r.md\nwrote r.html\n"
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert text.startswith("# What the engine gains\n\n**") and "\n- **Today.**" in text and "\n- **Ratio.**" in text
    assert text.count("\n- **") >= 5
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<h1>What the engine gains</h1>" in html and html.count("<svg") + html.count('class="bars"') > 20
