"""The picture of a timeline: well-formed, self-contained, its bars where the slots are."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from cdma.report.plots.gantt import gantt
from cdma.workload.networks.builder import Builder
from cdma.workload.networks.tensors import tensors
from cdma.workload.timeline.compute import Compute
from cdma.workload.timeline.schedule import Timeline, plain_dma, run

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
    assert root.attrib["aria-label"] == "a < b & c"
    found = {}
    for group in root.iter(f"{SVG}g"):
        title = group.find(f"{SVG}title")
        if title is not None:
            path = group.find(f"{SVG}path")
            assert path is not None
            across = [float(x) for x in re.findall(r"[ML] ([\d.]+) ", path.attrib["d"])]
            found.setdefault(title.text, []).append((round(min(across), 1), round(max(across) - min(across), 1)))
    # The longest row, 16 s, is 866 wide from 110 on. Forward of a<b: 2 s, a wait of 2 s, beside both an offload of 4 s.
    second = 866 / 16
    assert found["a<b, forward: 2000.000 ms, stall 2000.000 ms"] == [(110.0, pytest.approx(2 * second, abs=0.1))]
    assert found["a<b waits 2000.000 ms"] == [(pytest.approx(110 + 2 * second, abs=0.1),
                                               pytest.approx(2 * second, abs=0.1))]
    assert found["offload of data: 0.0 MB in 4000.000 ms"] == [(110.0, pytest.approx(4 * second, abs=0.1))]
    said = [text.text for text in root.iter(f"{SVG}text")]
    assert {"oracle", "R&D", "14,000.0 ms", "16,000.0 ms", "a<b", "c", "data"} <= set(said)


def test_nothing_is_fetched_from_elsewhere() -> None:
    picture = re.sub(r' xmlns(:xlink)?="[^"]*"', "", gantt(lines(), "title"))
    assert not re.search(r'http|href="(?!#)|url\((?!#)', picture)


def test_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        gantt({}, "title")
