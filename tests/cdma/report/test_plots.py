"""Pictures: round ticks, the same from every run, and what is missing without the extra."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from cdma.report.plots import drawing
from cdma.report.plots.sweep import sweep_plot
from cdma.synth.timing.sweep import point


@pytest.mark.parametrize(("top", "values"), [(43, [0, 10, 20, 30, 40, 50]), (0.9, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
                                             (5, [0, 1, 2, 3, 4, 5]), (1800, [0, 500, 1000, 1500, 2000])])
def test_ticks_are_round(top: float, values: list[float]) -> None:
    assert drawing.ticks(top) == values


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"matplotlib is not installed, .*pip install 'cdma-rtl\[report\]'"):
        drawing.require_extra()


def test_a_sweep_has_a_panel_for_each_design_and_a_name_for_each_point() -> None:
    points = [point(design, 1, beat, pipeline, 10.0 * beat / 16, 500.0, "first", "last") | {"front": True}
              for design in ("compressor", "decompressor") for pipeline in ("small", "fast") for beat in (16, 32)]
    text = sweep_plot(points)
    assert text == sweep_plot(points)
    said = [word.text for word in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    assert said.count("16 B") == 4 and {"compressor", "decompressor", "Pareto front"} <= set(said)
