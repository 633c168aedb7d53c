"""The interface that both data paths share: transfers in, results out, ports of the lanes and of the link."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal, Value, ValueLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.page_list import PageList
from cdma.hdl.engine.axi.pages import Entry, window_layout
from cdma.hdl.engine.axi.signature import axi_read
from cdma.hdl.engine.paths.supervisor import Supervisor, path_fault_layout
from cdma.hdl.engine.transfer.buffers import inject_layout
from cdma.hdl.engine.transfer.records import Status, events_layout, request_layout, result_layout

__all__ = ["DataPath"]

_LISTS = 4      # most page lists that are kept: of the stream that is in work, and of those behind it
_BAD = {Entry.MISALIGNED: Status.PAGE_MISALIGNED, Entry.OUTSIDE: Status.PAGE_OUTSIDE,
        Entry.MISSING: Status.PAGE_LIST_TOO_SHORT}


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
        Transfers to run, and their results in the same order: :mod:`cdma.hdl.engine.transfer.records`.
    abort : In(1)
        Aborts the oldest transfer.
    lanes : Out(lane).array(lanes)
        To each memory controller.
    link : Out(link)
        To the link.
    lists : Out(axi_read(address_bits, link_beat_bytes))
        With ``page_lists``: to the link, for page lists.
    window : In(window_layout(address_bits))
        With ``page_lists`` and ``address_windows``: the link's window, for pages. It does not change while a transfer
        runs.
    listing : Out(1)
        With ``page_lists``: a page list is being read, perhaps behind the last result.
    silent : In(lanes + 1)
        Ports that have not answered for the time limit (:mod:`cdma.hdl.engine.axi.watch`): those of the lanes in their
        order, then that of the link. An offload with ``page_lists`` has one more, that of the link for page lists.
    isolated : Out(lanes + 1)
        Ports that still have transactions open of a transfer that was reported; as ``silent``. With ``page_lists``, the
        last one also while it is silent in the middle of a list.
    inject : In(inject_layout(config))
        With ``buffer_parity``: errors to inject into the memories of a lane.
    events : Out(events_layout(config))
        For counters.
    """

    request: stream.Interface
    result: stream.Interface

    def __init__(self, config: EngineConfig, *, lane: wiring.Signature, link: wiring.Signature):
        self._config = config
        listed = config.page_lists
        # A prefetch reads its page lists through the port of its streams.
        self._units = config.lanes + (2 if listed and "awaddr" in link.members else 1)
        super().__init__({
            "request": In(stream.Signature(request_layout(config))),
            "result": Out(stream.Signature(result_layout(config))),
            "abort": In(1), "lanes": Out(lane).array(config.lanes), "link": Out(link),
            **({"lists": Out(axi_read(config.address_bits, config.link_beat_bytes)), "listing": Out(1)}
               if listed else {}),
            **({"window": In(window_layout(config.address_bits))} if listed and config.address_windows else {}),
            **({"inject": In(inject_layout(config))} if config.buffer_parity else {}),
            "silent": In(self._units), "isolated": Out(self._units),
            "events": Out(events_layout(config)),
        })

    def _supervised(self, m: Module, device: str) -> Supervisor:
        """Adds the supervisor and connects it to the path's ports.

        Parameters
        ----------
        device : str
            Which address of a transfer is in device memory: ``source`` or ``destination``.
        """
        m.submodules.supervisor = supervisor = Supervisor(self._config, device, self._units)
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

    def _page_list(self, m: Module, supervisor: Supervisor, pages: wiring.PureInterface, address: Value
                   ) -> tuple[PageList, Value, list[dict[str, ValueLike]]]:
        """Adds what reads the page lists, and gives it the list of each transfer that can be launched.

        The front may be at work on the transfer before. The list is given once, as soon as the launch is valid, so
        that its first entries are there when the front is free.

        Parameters
        ----------
        pages : pages_port(address_bits)
            Of the unit that takes the entries.
        address : Value
            Which address of the transfer that is launched is that of its list.

        Returns
        -------
        tuple
            The unit; whether the transfer that is launched does not have to wait for it; its faults.
        """
        config, launch = self._config, supervisor.launch
        transfer = launch.payload.transfer
        number = self._units - 1
        kept = min(_LISTS, 1 << ceil_log2(config.transfers_in_flight))
        lists = PageList(config.address_bits, config.link_beat_bytes, kept, config.burst_beats, config.address_windows)
        if config.address_windows:
            m.d.comb += lists.window.eq(self.window)
        given = Signal()        # the list of the transfer that is to be launched
        clear = Signal(name="clear_lists")
        m.submodules.page_list = ResetInserter(clear)(lists)
        wiring.connect(m, lists.axi, wiring.flipped(self.lists))
        wiring.connect(m, lists.entries, pages.entries)
        m.d.comb += [
            clear.eq(supervisor.unit_clear[number]), lists.stop.eq(supervisor.unit_stop[number]),
            lists.done.eq(pages.done), self.listing.eq(lists.busy),
            self.isolated[-1].eq(supervisor.isolated[-1] | (lists.busy & self.silent[-1])),
            lists.lists.payload.address.eq(address), lists.lists.payload.pages.eq(transfer.pages),
            lists.lists.payload.size.eq(transfer.page_size),
            lists.lists.valid.eq(launch.valid & transfer.listed & ~given), supervisor.ahead.eq(given),
        ]
        m.d.sync += given.eq((given | (lists.lists.valid & lists.lists.ready)) & ~(launch.valid & launch.ready)
                             & ~supervisor.clear)
        faults: list[dict[str, ValueLike]] = [
            {"valid": pages.bad == Entry.UNREAD, "status": Status.PAGE_LIST_READ_ERROR, "resp": lists.fault.resp,
             "place": lists.fault.address},
            *({"valid": pages.bad == entry, "status": status, "place": pages.place} for entry, status in _BAD.items())]
        return lists, ~transfer.listed | given | lists.lists.ready, faults

    def _protect(self, m: Module, lanes: Sequence[wiring.Component]) -> list[dict[str, ValueLike]]:
        """With ``buffer_parity``: gives the lanes the errors to inject, counts the lanes that found one, and returns
        their faults."""
        if not self._config.buffer_parity:
            return []
        spoiled, before = Signal(len(lanes), name="spoiled"), Signal(len(lanes), name="spoiled_before")
        m.d.comb += spoiled.eq(Cat(lane.spoiled for lane in lanes))
        m.d.sync += [before.eq(spoiled), self.events.buffer_errors.eq(sum(spoiled & ~before))]
        for number, lane in enumerate(lanes):
            m.d.comb += lane.inject.eq(Mux(self.inject.lane == number, self.inject.memories, 0))
        return [{"valid": spoiled[number], "status": Status.BUFFER_PARITY, "lane": number}
                for number in range(len(lanes))]

    def _count(self, m: Module, link_beat: Value, memory: Sequence[Value], buffer: Sequence[Value]) -> None:
        """Registers the events of a cycle: a beat on the link, and which lanes wait for their memory and buffer."""
        m.d.sync += [self.events.link_busy.eq(link_beat), self.events.memory_stalls.eq(sum(memory)),
                     self.events.buffer_stalls.eq(sum(buffer))]

    def _timeouts(self, silent: Value | list[Value], lane: Status, *others: Status) -> list[dict[str, ValueLike]]:
        """Faults of silent ports, for :meth:`_report`: those of the lanes in their order, then the others."""
        lanes = self._config.lanes
        faults: list[dict[str, ValueLike]] = [
            {"valid": silent[number], "status": lane, "lane": number} for number in range(lanes)]
        return [*faults, *({"valid": port, "status": status} for port, status in zip(silent[lanes:], others))]

    def _report(self, m: Module, supervisor: Supervisor, faults: Sequence[dict[str, ValueLike]]) -> None:
        """Gives the supervisor, through a register, the first fault of those that are valid, in the order given.

        ``faults`` are values of the fields of :func:`cdma.hdl.engine.paths.supervisor.path_fault_layout` by name;
        missing fields are 0.
        """
        fault = Signal(path_fault_layout(self._config))
        for number, fields in enumerate(faults):
            with m.If(fields["valid"]) if number == 0 else m.Elif(fields["valid"]):
                m.d.sync += [fault[key].eq(fields.get(key, 0)) for key in ("status", "lane", "resp", "place")]
        causes = Signal(len(faults), name="fault_causes")
        m.d.comb += [causes[number].eq(fields["valid"]) for number, fields in enumerate(faults)]
        m.d.sync += fault.valid.eq(causes.any())
        m.d.comb += supervisor.fault.eq(fault)
