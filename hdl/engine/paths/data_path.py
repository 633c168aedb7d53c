"""The interface that both data paths share: transfers in, results out, ports of the lanes and of the link."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config.engine import EngineConfig
from hdl.engine.paths.supervisor import Supervisor
from hdl.engine.transfer.events import events_layout
from hdl.engine.transfer.records import request_layout, result_layout

__all__ = ["DataPath"]


class DataPath(wiring.Component):
    """One direction of the engine.

    Parameters
    ----------
    config : EngineConfig
        What to build.
    lane, link : Signature
        The AXI channels at a memory controller, and at the link.

    Members
    -------
    request, result : stream
        Transfers to run, and their results in the same order: :mod:`hdl.engine.transfer.records`.
    abort : In(1)
        Aborts the oldest transfer.
    lanes : Out(lane).array(lanes)
        To each memory controller.
    link : Out(link)
        To the link.
    silent : In(lanes + 1)
        Ports that have not answered for the time limit (:mod:`hdl.engine.axi.watch`): those of the lanes in their
        order, then that of the link.
    isolated : Out(lanes + 1)
        Ports that still have transactions open of a transfer that was reported.
    events : Out(events_layout(config))
        For counters.
    """

    request: stream.Interface
    result: stream.Interface

    def __init__(self, config: EngineConfig, *, lane: wiring.Signature, link: wiring.Signature):
        self._config = config
        super().__init__({
            "request": In(stream.Signature(request_layout(config))),
            "result": Out(stream.Signature(result_layout(config))),
            "abort": In(1), "lanes": Out(lane).array(config.lanes), "link": Out(link),
            "silent": In(config.lanes + 1), "isolated": Out(config.lanes + 1),
            "events": Out(events_layout(config)),
        })

    def _supervised(self, m: Module, device: str) -> Supervisor:
        """Adds the supervisor and connects it to the path's ports.

        Parameters
        ----------
        device : str
            Which address of a transfer is in device memory: ``source`` or ``destination``.
        """
        m.submodules.supervisor = supervisor = Supervisor(self._config, device, self._config.lanes + 1)
        wiring.connect(m, wiring.flipped(self.request), supervisor.request)
        wiring.connect(m, supervisor.result, wiring.flipped(self.result))
        m.d.comb += [
            supervisor.abort.eq(self.abort),
            supervisor.silent.eq(self.silent),
            self.isolated.eq(supervisor.isolated),
        ]
        return supervisor

    def _unit_clears(self, m: Module, supervisor: Supervisor) -> list[Signal]:
        """What clears each unit: those of the lanes in their order, then that of the link."""
        clears = [Signal(name="clear") for _ in supervisor.unit_clear]
        m.d.comb += [clear.eq(bit) for clear, bit in zip(clears, supervisor.unit_clear)]
        return clears

    def _count(self, m: Module, link_beat: Value, waits: Sequence[data.View]) -> None:
        """Registers the events of a cycle: a beat on the link, and what each lane waits for."""
        m.d.sync += [
            self.events.link_busy.eq(link_beat),
            self.events.memory_stalls.eq(sum(each.memory for each in waits)),
            self.events.buffer_stalls.eq(sum(each.buffer for each in waits)),
        ]
