"""The picture of a timeline: well-formed, self-contained, its bars where the slots are."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from cdma.report.plots.gantt import gantt
from workload.networks.builder import Builder
from workload.networks.tensors import tensors
from workload.timeline.compute import Compute
from workload.timeline.schedule import Timeline, plain_dma, run

SVG = "{http://www.w3.org/2000/svg}"


def lines() -> dict[str, Timeline]:
    net = Builder("two", "a test", 10, (1, 10, 10))
    net.conv("a<b", 2, 1)
    net.conv("c", 3, 1, relu=False)
    plan, work = tensors(net.network()), [Compute(2.0, 3.0, 0, 0), Compute(4.0, 5.0, 0, 0)]
    return {label: run(plan, work, chosen, plain_dma(1e3), 1e30)
            for label, chosen in (("oracle", ()), ("R&D", ("data",)))}


def test_bars_lie_where_the_slots_are() -> None:
    root = ElementTree.fromstring(gantt(lines(), "a < b & c"))
    assert root.attrib["viewBox"].startswith("0 0 1000 ")
    groups = root.findall(f"{SVG}g")
    # Labels and step times, then what has room for its name in the bar.
    assert [[text.text for text in group.findall(f"{SVG}text")] for group in groups] == [
        ["oracle", "14,000.0 ms", "a<b", "c", "c", "a<b"],
        ["R&D", "16,000.0 ms", "a<b", "data", "c", "c", "data", "a<b"]]
    # The longest row, 16 s, is 880 wide. Forward of a<b: 2 s, a wait of 2 s, beside both an
    # offload of 4 s; then c at 4 s.
    bars = [rect for rect in groups[1].findall(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    found = [(float(bar.attrib["x"]), float(bar.attrib["width"]), bar[0].text) for bar in bars]
    assert [(x, width) for x, width, _ in found] == [
        (96.0, 110.0), (206.0, 110.0), (96.0, 220.0), (316.0, 220.0), (536.0, 275.0), (536.0, 220.0), (811.0, 165.0)]
    assert found[0][2] == "a<b, forward: 2000.000 ms, stall 2000.000 ms"
    assert found[1][2] == "a<b waits 2000.000 ms"
    assert found[2][2] == "offload of data: 0.0 MB in 4000.000 ms"


def test_nothing_is_fetched_from_elsewhere() -> None:
    picture = gantt(lines(), "title").replace("http://www.w3.org/2000/svg", "")
    assert "http" not in picture and "href" not in picture and "url(" not in picture


def test_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        gantt({}, "title")
