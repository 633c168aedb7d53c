"""The plots of pages: as large as their values, with text that keeps clear of other text, the same from every run."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from cdma.report.plots import drawing, inline
from cdma.report.plots.sweep import sweep_plot
from synth.timing.sweep import SweepPoint


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The figure of a plot instead of its SVG."""
    monkeypatch.setattr(inline, "inline_svg", lambda made, title: made)
    return inline


def texts_of(made: Figure) -> list[Text]:
    """What is written in a figure."""
    return [text for text in made.findobj(Text) if isinstance(text, Text) and text.get_visible() and text.get_text()]


def words(made: Figure) -> list[str]:
    """What is written in a figure, in words."""
    return [text.get_text() for text in texts_of(made)]


def overlaps(made: Figure) -> list[tuple[str, str]]:
    """Pairs of texts that lie on each other."""
    made.canvas.draw()
    boxes = [(text.get_text(), text.get_window_extent().shrunk(0.95, 0.7)) for text in texts_of(made)]
    return [(one, other) for number, (one, box) in enumerate(boxes) for other, second in boxes[number + 1:]
            if box.overlaps(second)]


def test_bars_are_as_long_as_their_values(drawn) -> None:
    made = drawn.bars("ratio <", {"a & b": [1.0, 4.0], "c": [None, 2.0]}, {"c": 4.0}, digits=1)
    axes = made.axes[0]
    assert [bar.get_width() for bar in axes.patches] == [1.0, 4.0, 2.0]
    assert axes.get_xlim() == (0, 4.0)
    (mark,) = axes.lines
    assert list(mark.get_xdata()) == [4.0, 4.0]
    assert set(words(made)) >= {"a & b", "1.0", "4.0", "c", "2.0"}
    assert drawn.bars("share", {"a": [0.5]}, top=1.0).axes[0].get_xlim() == (0, 1.0)
    assert drawn.bars("nothing", {}) == ""
    assert [bar.get_width() for bar in drawn.bars("zero", {"a": [0.0]}).axes[0].patches] == [0.0]


def test_lines_have_a_point_for_every_value(drawn) -> None:
    (line,) = drawn.line("conv1", ["0 %", "50 %", "100 %"], [1.0, None, 0.0]).axes[0].lines
    assert [value == value and value for value in line.get_ydata()] == [1.0, False, 0.0]
    assert line.get_marker() == "o"


@pytest.mark.parametrize("large", [False, True])
def test_columns_are_as_high_as_their_values(drawn, large: bool) -> None:
    made = drawn.columns("runs <", ["1", "", "4+"], [0.5, 0.0, 0.125], [0.25, 0.0, 0.5], 0.5, large)
    axes = made.axes[0]
    assert [bar.get_height() for bar in axes.patches] == [0.5, 0.0, 0.125]
    assert [line.get_ydata()[0] for line in axes.lines] == [0.25, 0.0, 0.5]
    assert set(words(made)) >= {"runs <", "0%", "25%", "50%", "1", "4+", *(["50", "0", "12"] if large else [])}
    assert overlaps(made) == []


def test_values_above_columns_keep_clear_of_the_lines(drawn) -> None:
    made = drawn.columns("runs", ["1", "2", "3"], [0.4, 0.4, 0.4], [0.0, 0.43, 0.9], large=True)
    made.canvas.draw()
    axes = made.axes[0]
    values = [text.get_window_extent() for text in axes.texts]
    for line in axes.lines:
        height = axes.transData.transform((0, line.get_ydata()[0]))[1]
        assert not any(box.x0 < axes.transData.transform((line.get_xdata()[1], 0))[0] and box.x1
                       > axes.transData.transform((line.get_xdata()[0], 0))[0] and box.y0 < height < box.y1
                       for box in values)


def test_stems_reach_from_one_to_their_values(drawn) -> None:
    made = drawn.stems("clustering", {"a": 10.0, "b": 0.1, "c & d": None, "e": 100.0}, 0.1, 100.0)
    axes = made.axes[0]
    assert axes.get_xscale() == "log" and axes.get_xlim() == (0.1, 100.0)
    stems = [list(line.get_xdata()) for line in axes.lines if line.get_marker() == "None"][1:]
    assert stems == [[1, 10.0], [1, 0.1], [1, 100.0]]
    assert set(words(made)) >= {"0.1", "1", "10", "100", "a", "10.0", "b", "c & d", "e", "100.0"}
    assert drawn.stems("none", {}, 1.0, 1.0) == ""


def test_long_names_are_broken_or_cut_in_their_middle(drawn) -> None:
    name = "model.encoder.layers.11.self_attention.output_projection"
    for made in (drawn.line(name, ["0", "1"], [0.1, 0.2]), drawn.columns(name, ["1"], [0.5])):
        lines = [text.get_text() for text in made.texts]
        assert lines[0] == "model.encoder.layers." and "…" in lines[1]
        width = made.get_size_inches()[0] * 72
        made.canvas.draw()
        assert all(text.get_window_extent().x1 <= width + 4 for text in made.texts)
    made = drawn.bars("ratio", {"x" * 50 + "/" + "y" * 50: [1.0]})
    assert any("…" in text for text in words(made))


def test_no_text_of_bars_lies_on_another(drawn) -> None:
    groups = {f"layer{number}.conv{'x' * 30}": [1.11, 22.22, 3.33] for number in range(6)}
    assert overlaps(drawn.bars("ratio", groups, dict.fromkeys(groups, 20.0))) == []


def test_the_same_plot_is_the_same_text_and_fetches_nothing() -> None:
    one, other = (inline.bars("a <b>", {"$x_1$ & y": [1.0]}, {"$x_1$ & y": 1.0}) for _ in range(2))
    assert one == other
    assert 'aria-label="a &lt;b&gt;"' in one and ">$x_1$ &amp; y</text>" in one
    assert not re.search(r"https?:|<metadata|url\((?!#)|href=\"(?!#)", one)


def test_labels_of_points_that_are_close_lie_apart() -> None:
    made = drawing.figure(400, 300)
    axes = made.add_axes((0.1, 0.1, 0.8, 0.8))
    axes.set(xlim=(0, 10), ylim=(0, 10))
    drawing.place_labels(axes, [(5, 5), (5.05, 5.02), (5.1, 5.0), (9.9, 9.9)], ["1 lane", "2 lanes", "4 lanes", "end"])
    made.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(box.overlaps(other) for number, box in enumerate(boxes) for other in boxes[number + 1:])


@pytest.mark.parametrize(("top", "values"), [(43, [0, 10, 20, 30, 40, 50]), (0.9, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
                                             (5, [0, 1, 2, 3, 4, 5]), (1800, [0, 500, 1000, 1500, 2000])])
def test_ticks_are_round(top: float, values: list[float]) -> None:
    assert drawing.ticks(top) == values


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"matplotlib is not installed, .*pip install 'cdma-rtl\[report\]'"):
        drawing.require_extra()


def test_a_sweep_has_a_panel_for_each_design_and_a_name_for_each_point() -> None:
    points = [SweepPoint(design, 1, beat, pipeline, 10.0 * beat / 16, 500.0, "first", "last", True)
              for design in ("compressor", "decompressor") for pipeline in ("small", "fast") for beat in (16, 32)]
    text = sweep_plot(points)
    assert text == sweep_plot(points)
    said = [word.text for word in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    assert said.count("16 B") == 4 and {"compressor", "decompressor", "Pareto front"} <= set(said)
