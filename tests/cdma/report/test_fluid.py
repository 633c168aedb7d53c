"""The plots in HTML: as large as their values at any width, outliers cut, labels that keep clear of each other."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from cdma.report.plots import fluid


def found(pattern: str, text: str) -> list[str]:
    """All that a pattern finds in markup."""
    return re.findall(pattern, text)


def test_bars_are_as_long_as_their_values() -> None:
    made = fluid.bars("ratio <", {"a & b": [1.0, 4.0], "c": [None, 2.0]}, {"c": 4.0}, 1, 4.0)
    assert found(r"width:([\d.]+)%", made) == ["25", "100", "50"]
    assert found(r"<u style=\"left:([\d.]+)%", made) == ["100"]
    assert found(r"<b>([^<]*)</b>", made) == ["1.0", "4.0", "2.0"]
    assert found(r'class="name">([^<]*)<', made) == ["a &amp; b", "c"]
    assert 'aria-label="ratio &lt;"' in made
    assert found(r'<span[^>]*left:([\d.]+)%">([^<]*)</span>', made) == [
        ("0", "0"), ("25", "1"), ("50", "2"), ("75", "3"), ("100", "4")]
    assert "--step:25%" in made
    assert found(r"width:([\d.]+)%", fluid.bars("zero", {"a": [0.0, -1.0]}, {}, 2, 1.0)) == ["0", "0"]


@pytest.mark.parametrize(("values", "top"), [
    ([1.0, 2.0, 3.0, 4.0], 4.0), ([1.4] * 7 + [108.0], 1.4), ([1.0, 108.0], 108.0), ([], 1.0), ([None, 0.0], 1.0),
    ([2.2, 2.6, 3.0, 5.4, 6.2, 1.1, 1.4], 6.2)])
def test_an_outlier_does_not_set_the_scale(values: list[float | None], top: float) -> None:
    assert fluid.scale(values) == top


def test_what_is_beyond_the_scale_is_cut_and_keeps_its_number() -> None:
    made = fluid.bars("ratio", {**{str(number): [1.4] for number in range(7)}, "zeros": [108.7]}, {"zeros": 500.0}, 2,
                      1.4)
    assert found(r"width:([\d.]+)%", made) == ["100"] * 8
    assert made.count('class="cut"') == 1 and "<b>108.70</b>" in made
    assert "<u" not in made
    steep = fluid.lines("", [str(number) for number in range(8)], {"a": [1.0] * 7 + [50.0]})
    assert ">50.00</b>" in steep and min(map(float, found(r"[ML][\d.]+ ([\d.-]+)", steep))) >= 0


def test_lines_have_a_point_for_every_value() -> None:
    made = fluid.lines("conv1", ["0 %", "50 %", "100 %"], {"": [1.0, None, 0.0]}, 1.0)
    assert found(r'<path d="([^"]*)"', made) == ["M0.00 0.00M100.00 100.00"]
    assert found(r'class="dots" d="([^"]*)"', made) == ["M0.00 0.00h0M100.00 100.00h0"]
    assert 'aria-label="conv1: 1.00, none, 0.00"' in made
    both = fluid.lines("", ["a", "b"], {"one": [1, 2], "two": [3, 4]}, large=True)
    assert found(r'<path d="([^"]*)"', both) == ["M0.00 75.00L100.00 50.00", "M0.00 25.00L100.00 0.00"]
    assert found(r">([\d.]+)</b>", both) == ["2.00", "4.00"]


@pytest.mark.parametrize("number", [2, 3, 5, 6, 11, 24, 100])
@pytest.mark.parametrize("large", [False, True])
def test_labels_of_lines_do_not_collide_on_a_phone(number: int, large: bool) -> None:
    labels = [f"step {1000 * at}" for at in range(number)]
    made = fluid.lines("", labels, {"a": [0.5] * number}, 1.0, large)
    axis = made[made.index('class="axis"'):]
    shown = [(float(at), text) for at, text in found(r'left:([\d.]+)%">([^<]*)</span>', axis)]
    assert shown[0] == (0, labels[0]) and shown[-1] == (100, labels[-1])
    # On a phone a plot is 300 pixels wide, a small one 130, and a letter about 6.
    width, ends = 300 if large else 130, -1.0
    for at, text in shown:
        wide = 6 * len(text)
        left = at / 100 * width - (0 if at == 0 else wide if at == 100 else wide / 2)
        assert left > ends, (shown, large)
        ends = left + wide


def test_numbers_at_the_ends_of_lines_lie_apart_and_near() -> None:
    made = fluid.lines("", ["a", "b"], {str(number): [1, value] for number, value in enumerate(
        (2.58, 2.60, 2.65, 2.62, 3.9))}, large=True)
    places = sorted(float(at) for at in found(r"<b style=\"bottom:(\d+)px", made))
    assert all(second - first >= 13 for first, second in pairwise(places))
    # The four that touch are moved evenly, the fifth not at all.
    assert sum(places[:4]) / 4 == pytest.approx(2.6125 / 4 * 150, abs=1) and places[4] == round(3.9 / 4 * 150)


@pytest.mark.parametrize("large", [False, True])
def test_columns_are_as_high_as_their_values(large: bool) -> None:
    made = fluid.columns("runs <", ["1", "", "4+"], [0.5, 0.0, 0.125], [0.25, 0.0, 0.5], 0.5, large)
    assert found(r"height:([\d.]+)%", made) == ["100", "0", "25"]
    assert found(r'<u style="bottom:([\d.]+)%', made) == ["50", "0", "100"]
    assert found(r">(\d+)</b>", made) == (["50", "0", "12"] if large else [])
    assert found(r"<span>([^<]*)</span>", made) == ["1", "", "4+"]
    assert found(r">(\d+%)</span>", made) == ["0%", "25%", "50%"]
    assert 'aria-label="runs &lt;: 50%, 0%, 12%"' in made


def test_values_above_columns_keep_clear_of_the_lines() -> None:
    made = fluid.columns("runs", ["1", "2", "3"], [0.4, 0.4, 0.4], [0.0, 0.43, 0.9], large=True)
    assert found(r'<b style="bottom:([\d.]+)%', made) == ["40", "43", "40"]


def test_the_same_plot_is_the_same_text_and_fetches_nothing() -> None:
    one, other = (fluid.bars("a <b>", {"<x> & y": [1.0]}, {"<x> & y": 1.0}, 2, 1.0) for _ in range(2))
    assert one == other and "&lt;x&gt; &amp; y" in one
    assert not re.search(r"https?:|url\(|href=|src=", one)
