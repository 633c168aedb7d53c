"""Alike blocks in one row each."""

from __future__ import annotations

from typing import Any

from cdma.report.blocks_text import alike_blocks


def layer(name: str, forward: float = 1.0, stall: float = 0.0, offloads: tuple[str, ...] = ()) -> dict[str, Any]:
    stalls = {"vdnn": {"forward": stall, "backward": 2 * stall}}
    return {"layer": name, "forward_ms": forward, "backward_ms": 2.0, "offloads": list(offloads),
            "offload_bytes": 100 * len(offloads), "stall_ms": stalls}


def names(*layers: dict[str, Any]) -> list[str]:
    return [one["layer"] for one in alike_blocks(layers)]


def test_alike_blocks_are_one_row_for_each_layer() -> None:
    blocks = [layer(f"block{n}/{part}", 1.0, n, (f"block{n - 1}/b", f"block{n}/a", "data"))
              for n in (1, 2, 3) for part in ("a", "b")]
    found = alike_blocks([layer("first"), *blocks, layer("last")])
    assert [one["layer"] for one in found] == ["first", "block1..3/a", "block1..3/b", "last"]
    assert found[1]["offloads"] == ["block0..2/b", "block1..3/a", "data"]
    assert found[1]["stall_ms"] == {"vdnn": {"forward": 2.0, "backward": 4.0}}
    assert (found[1]["forward_ms"], found[1]["offload_bytes"]) == (1.0, 300)


def test_blocks_that_differ_stay() -> None:
    assert names(layer("b1/x"), layer("b2/x", 1.5), layer("b3/x", 1.5)) == ["b1/x", "b2..3/x"]
    assert names(layer("b1/x"), layer("b2/x"), layer("b2/y")) == ["b1/x", "b2/x", "b2/y"]
    assert names(layer("b1/x"), layer("b2/x", offloads=("b1/x",)), layer("b3/x", offloads=("b2/x",))) == [
        "b1/x", "b2..3/x"]
    # Of other numbers, other names, or with a layer between them.
    assert names(layer("b1/x"), layer("b3/x")) == ["b1/x", "b3/x"]
    assert names(layer("b1/x"), layer("c2/x")) == ["b1/x", "c2/x"]
    assert names(layer("b1/x"), layer("between"), layer("b2/x")) == ["b1/x", "between", "b2/x"]
    assert names(layer("b1/x"), layer("b2/x", 1 + 1e-9)) == ["b1..2/x"]
    assert names() == []
