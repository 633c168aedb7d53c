"""Chooses one fault when several units report one."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Signal, Value, ValueLike
from amaranth.lib import data

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.paths.supervisor import path_fault_layout
from cdma.hdl.engine.transfer.records import Status

__all__ = ["first_fault", "timeouts"]


def first_fault(m: Module, config: EngineConfig, faults: Sequence[dict[str, ValueLike]], name: str) -> data.View:
    """A registered fault: the first of those that are valid, in the order given.

    Parameters
    ----------
    faults : sequence of dict
        Values of the fields of :func:`cdma.hdl.engine.paths.supervisor.path_fault_layout` by name; missing fields are
        0.
    """
    fault = Signal(path_fault_layout(config), name=name)
    for number, fields in enumerate(faults):
        with m.If(fields["valid"]) if number == 0 else m.Elif(fields["valid"]):
            m.d.sync += [fault[key].eq(fields.get(key, 0)) for key in ("status", "lane", "resp", "place")]
    valid = Signal(len(faults), name=f"{name}_causes")
    m.d.comb += [valid[number].eq(fields["valid"]) for number, fields in enumerate(faults)]
    m.d.sync += fault.valid.eq(valid.any())
    return fault


def timeouts(silent: Value, lanes: int, lane_status: Status, *others: Status) -> list[dict[str, ValueLike]]:
    """Faults of silent ports, for :func:`first_fault`: those of the lanes in their order, then the others."""
    faults: list[dict[str, ValueLike]] = [
        {"valid": silent[lane], "status": lane_status, "lane": lane} for lane in range(lanes)]
    return [*faults, *({"valid": port, "status": status} for port, status in zip(silent[lanes:], others))]
