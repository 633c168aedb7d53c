# amaranth: UnusedElaboratable=no
"""What the top level makes of its options, where no engine that is simulated in the usual run has them together."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any, cast

import pytest
from amaranth.hdl import Fragment, Module
from amaranth.lib.wiring import PureInterface

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine import engine
from cdma.hdl.engine.axi.signature import axi_full
from tests.hdl.bench import settled

_SEPARATE = EngineConfig(lanes=2, link_clock="separate")


def _made(monkeypatch: pytest.MonkeyPatch, config: EngineConfig, method: str, component: str,
          *arguments: Any) -> tuple[Any, dict[str, Any]]:
    """What a method of an engine returns, and what it makes a component of."""
    made: dict[str, Any] = {}
    right = getattr(engine, component)

    def make(*given: Any) -> Any:
        made.update(inspect.signature(right).bind(*given).arguments)
        return right(*given)

    monkeypatch.setattr(engine, component, make)
    m = Module()
    returned = getattr(engine.Engine(config), method)(m, *arguments)
    Fragment.get(m, None)       # Amaranth complains of parts that are not elaborated
    return returned, made


@pytest.mark.parametrize(("options", "outstanding"), [
    ({"link_read_ids": 2}, 4), ({"link_read_ids": 9}, 9), ({"write_back": True}, 8),
    ({"write_back": True, "outstanding_reads": 1}, 1), ({"outstanding_reads": 1}, 1)])
def test_the_crossing_holds_what_may_be_outstanding(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any],
                                                    outstanding: int) -> None:
    """Reads as well as writes of the link."""
    _, made = _made(monkeypatch, _SEPARATE.replace(**options), "_link", "AxiCrossing")
    assert made["outstanding"] == outstanding


@pytest.mark.parametrize("registers", [False, True])
def test_attributes_that_change_cross_with_their_requests(monkeypatch: pytest.MonkeyPatch, registers: bool) -> None:
    """Constants are at the port itself."""
    config = _SEPARATE.replace(attribute_registers=registers)
    (near, attributed), made = _made(monkeypatch, config, "_link", "AxiCrossing")
    assert (attributed is near) == registers
    assert made.get("user_bits") == (config.user_bits if registers else None)


@pytest.mark.parametrize(("outstanding_reads", "outstanding"), [(1, 1), (4, 8), (16, 23)])
def test_records_and_blocks_share_what_may_be_outstanding(monkeypatch: pytest.MonkeyPatch, outstanding_reads: int,
                                                          outstanding: int) -> None:
    """With one burst at a time, a record is that burst, or one of the stream."""
    config = EngineConfig(write_back=True, outstanding_reads=outstanding_reads)
    offload = SimpleNamespace(link=engine.OffloadPath(config).link, silent=[0] * (config.lanes + 1))
    _, made = _made(monkeypatch, config, "_write_port", "AxiWriteArbiter", offload, engine.Control(config))
    assert (made["inputs"], made["outstanding"]) == (2, outstanding)


@pytest.mark.parametrize("name", ["lane3", "link"])
def test_constant_attributes_are_those_of_the_kind_of_port(name: str) -> None:
    given = {"lane": {"cache": 7, "prot": 2, "qos": 9, "user": 5},
             "link": {"cache": 15, "prot": 1, "qos": 4, "user": 2}}
    config = EngineConfig(user_bits=3).replace(**{f"{kind}_{each}": value for kind, values in given.items()
                                                  for each, value in values.items()})
    m, port = Module(), cast(PureInterface, axi_full(config.address_bits, config.beat_bytes, config.user_bits).create())
    engine.Engine._attribute(cast(engine.Engine, SimpleNamespace(_config=config)), m, name, port, cast(Any, None))

    async def process(ctx: Any) -> None:
        await ctx.delay(1e-6)
        for channel in ("ar", "aw"):
            assert {each: ctx.get(getattr(port, f"{channel}{each}")) for each in given["lane"]} == given[name[:4]]

    settled(m, process)
