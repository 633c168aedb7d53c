"""Arrays through an engine, each in a way of its own; and what cannot be simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.simulate import Handling, plain_bytes_per_cycle, simulate

DENSE = np.arange(1, 5001, dtype=np.uint32)


def test_each_in_its_own_way(build_dir: Path) -> None:
    config = load_engine("tiny")
    coding = Coding.ZVC32
    ways = {"raw": Handling(coding, leave_raw=True), "coded": Handling(coding),
            "without fallback": Handling(coding, fallback=False), "exponents": Handling(Coding.FLOAT32)}
    half = np.where(np.arange(5000) % 2, DENSE, 0).astype(np.uint32)
    arrays = {"raw": half, "coded": half, "without fallback": DENSE, "exponents": np.ones(5000, np.float32)}
    found = {result["name"]: result for result in simulate(
        arrays, ways, config, how=Behaviour(latency=20), link_share=0.5, build_dir=build_dir)}
    assert all(result["passed"] for result in found.values()), found
    # 20,000 bytes in ten blocks of 2,048 and less, the last short: headers, tags of 4 bytes a line, values.
    assert found["raw"]["packed_bytes"] == 20_000 + 10 * 4
    assert found["coded"]["packed_bytes"] == 10_000 + 157 * 4 + 10 * 4 + 4
    assert found["without fallback"]["packed_bytes"] == 20_000 + 157 * 4 + 10 * 4 + 4
    assert found["exponents"]["packed_bytes"] == blocks.compress(arrays["exponents"], Coding.FLOAT32, 2048).size
    assert [found[name]["raw_blocks"] for name in ways] == [10, 0, 0, 0]
    assert [found[name]["coding"] for name in ways] == ["zvc32", "zvc32", "zvc32", "float32"]
    for result in found.values():
        assert result["plain_bytes_per_cycle"] == plain_bytes_per_cycle(config, 0.5) == 8.0
        assert min(result["offload_cycles"], result["prefetch_cycles"]) > result["packed_bytes"] / 8


@pytest.mark.parametrize(("config", "arrays", "way", "says"), [
    ({}, {}, Handling(Coding.ZVC32), "there is no array"),
    ({}, {"a": DENSE[:0]}, Handling(Coding.ZVC32), "array a is empty"),
    ({}, {"a": DENSE.astype(np.uint8)[:6]}, Handling(Coding.ZVC32),
     "array a: 6 bytes are not a multiple of the element size of 4"),
    ({"codings": ("zvc32",)}, {"a": DENSE}, Handling(Coding.ZVC16), "builds the codings zvc32, not zvc16: choose"),
    ({}, {"a": DENSE}, Handling(Coding.LINES32), "not lines32: choose another engine, or set its codings"),
    ({}, {"a": DENSE}, Handling(3), "not 0x03: choose"),
    ({}, {"a": DENSE}, Handling(Coding.ZVC16, narrow=1), "has no stage that rounds a"),
    ({"narrowing": True}, {"a": DENSE.astype(np.uint16)[:3]}, Handling(Coding.ZVC16, narrow=1),
     "element size of 4 bytes"),
    ({"narrowing": True}, {"a": DENSE}, Handling(Coding.BFLOAT16, narrow=2), "to float16 as zvc16, not as bfloat16"),
])
def test_mistakes(config: dict[str, Any], arrays: dict[str, np.ndarray], way: Handling, says: str,
                  build_dir: Path) -> None:
    with pytest.raises(ValueError, match=says):
        simulate(arrays, dict.fromkeys(arrays, way), EngineConfig(**config), build_dir=build_dir)
