"""The launcher of a data path: keeps requests in progress, and gives each to the front and to the units behind it."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.common.counters import decreased
from cdma.hdl.common.record_fifo import WORD_BITS, load_words, word_memory
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.transfer.interleave import LaneFinder, lane_bits
from cdma.hdl.engine.transfer.records import BLOCK_BITS, LENGTH_BITS, request_layout

__all__ = ["Launcher", "follow_layout", "launch_layout"]

_CODED = ("element", "exponents", "narrow")
_LAUNCH = {"source": ("source", *_CODED, "fallback", "leave_raw"), "destination": ("source", "packed_bytes")}
_FOLLOW = {"source": ("destination", "capacity"),
           "destination": ("packed_bytes", "destination", "raw_bytes", *_CODED, "check_crc", "crc")}
# With page lists: the front reads the list of a stream before the stream begins.
_LISTED_LAUNCH = {"source": ("destination", "listed", "page_size", "pages"),
                  "destination": ("listed", "page_size", "pages")}
_LISTED_FOLLOW = {"source": ("listed", "page_size"), "destination": ()}


def _fields(config: EngineConfig, device: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Fields of a request that the front of the path needs, and those that the units behind the front need."""
    launch, follow = _LAUNCH[device], _FOLLOW[device]
    if config.page_lists:
        launch, follow = launch + _LISTED_LAUNCH[device], follow + _LISTED_FOLLOW[device]
    return launch, tuple(name for name in follow if config.crc or "crc" not in name)


def launch_layout(config: EngineConfig, device: str) -> data.StructLayout:
    """A transfer for the front of a path: fields of the request, and the lane of its first block; for an offload, whose
    ``device`` is ``source``, also the number of its last block and the raw bytes of that block."""
    return _layout(config, device, _fields(config, device)[0], followed=False)


def follow_layout(config: EngineConfig, device: str) -> data.StructLayout:
    """A transfer for the units behind the front, as :func:`launch_layout`, without the bytes of the last block.
    ``packed_bytes`` has its lowest bits only: the bytes of the last beat."""
    return _layout(config, device, _fields(config, device)[1], followed=True)


def _layout(config: EngineConfig, device: str, names: tuple[str, ...], followed: bool) -> data.StructLayout:
    fields: dict[str, ShapeLike] = {name: request_layout(config)[name].shape for name in names}
    if followed and "packed_bytes" in fields:
        fields["packed_bytes"] = exact_log2(config.link_beat_bytes)
    layout: dict[str, ShapeLike] = {"transfer": data.StructLayout(fields), "first_lane": lane_bits(config)}
    if device == "source":
        layout["last_block"] = BLOCK_BITS
        if not followed:
            layout["tail_bytes"] = range(config.block_bytes + 1)
    return data.StructLayout(layout)


def _record_layout(config: EngineConfig, device: str) -> data.StructLayout:
    """What is kept of a request. What the front needs comes first, and what the units behind it need comes last."""
    launch, follow = _fields(config, device)
    fields = dict.fromkeys((*launch, *(("last_byte",) if device == "source" else ()), *follow))
    return data.StructLayout({
        name: LENGTH_BITS if name == "last_byte" else request_layout(config)[name].shape for name in fields})


class Launcher(wiring.Component):
    """Takes requests, finds the lane of their first block, and gives each to the front of the path and to the units
    behind it. A request stays in a memory until its transfer has ended, so that it can be launched again.

    ::

                        +--> [launch] --> find lane ----------> launch
        request --+-----+        ^                                |
                  |              | again                          | lane
                  +--> word by word --> [memory] --> [follow] ----+---> follow

    =====  ===================================================
    cycle  for a request of ``n`` words, if the front is free
    =====  ===================================================
    0      ``took``
    1      its first word is written; its first lane is computed
    2      ``launch``; later if the number of lanes is no power of two
    4      its first word for the units behind is read
    11     ``follow`` at the latest
    n      ``request`` is taken; its result may leave from here on
    =====  ===================================================

    With one transfer in flight there is no memory, and ``follow`` comes in the cycle after ``launch``.

    Parameters
    ----------
    config, device
        As for :class:`cdma.hdl.engine.paths.supervisor.Supervisor`.

    Members
    -------
    request : In(stream.Signature(request_layout(config)))
        Transfers to run.
    may_take : In(1)
        A request may be taken.
    repeats : In(1)
        Take the one that is kept at ``next`` again; not together with ``may_take``.
    next : In(range(transfers_in_flight))
        Where the transfer to be taken is kept.
    took, begins, refused : Out(1)
        A request was taken; a transfer was launched; one was dropped.
    writes : Out(1)
        A request that was taken is being written, and its ``ready`` comes later.
    may_launch, refuses : In(1)
        The transfer that was taken may be launched; must be dropped.
    clear : In(1)
        Forget all transfers that were taken; the memory stays.
    first : In(range(transfers_in_flight))
        With ``clear``: where the transfer is kept that is launched next.
    launch : Out(stream.Signature(launch_layout(config, device)))
        Transfers for the front of the path.
    follow : Out(stream.Signature(follow_layout(config, device)))
        The same, for the units behind it.
    """

    request: stream.Interface
    launch: stream.Interface
    follow: stream.Interface

    def __init__(self, config: EngineConfig, device: str):
        self._config = config
        self._device = device
        self._most = config.transfers_in_flight
        place = range(max(self._most, 2))
        super().__init__({
            "request": In(stream.Signature(request_layout(config))), "may_take": In(1), "repeats": In(1),
            "next": In(place), "took": Out(1), "begins": Out(1), "refused": Out(1), "writes": Out(1),
            "may_launch": In(1), "refuses": In(1), "clear": In(1), "first": In(place),
            "launch": Out(stream.Signature(launch_layout(config, device))),
            "follow": Out(stream.Signature(follow_layout(config, device))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, many = self._config, self._most > 1
        m.submodules.finder = finder = LaneFinder(config)
        request = self.request.payload
        # With one transfer in flight the units behind the front are shown what the front is.
        launched, followed = _fields(config, self._device)
        front = self._registers("launch", (self._device, *launched, *(() if many else followed)))
        with m.If(self.took):
            m.d.sync += [register.eq(decreased(request.raw_bytes, config.pipeline) if name == "last_byte"
                                     else Value.cast(request[name])) for name, register in front.items()]
        record = Signal(_record_layout(config, self._device))       # of the request, from the cycle after `took` on
        m.d.comb += [
            record[name].eq(front["last_byte"] if name == "last_byte" else request[name])
            for name in record.shape().members]
        m.d.comb += [
            finder.address.eq(front[self._device]),
            self.begins.eq(self.launch.valid & self.launch.ready),
        ]
        self._show(m, self.launch.payload, front, finder.lane)
        fetch, loaded = Signal(), Signal()
        if many:
            self._follow(m, record, front, finder.lane, fetch, loaded)
        else:
            self._show(m, self.follow.payload, front, finder.lane)
            m.d.comb += self.request.ready.eq(self.took)
            m.d.sync += self.follow.valid.eq((self.begins | (self.follow.valid & ~self.follow.ready)) & ~self.clear)
        with m.FSM():
            with m.State("wait"):
                m.d.comb += self.took.eq(self.request.valid & self.may_take & ~self.writes)
                with m.If(self.took):
                    m.next = "find"
                if many:
                    with m.If(self.repeats):
                        m.next = "load"
            if many:
                with m.State("load"):
                    m.d.comb += fetch.eq(1)
                    with m.If(loaded):
                        m.next = "find"
                    with m.If(self.clear):
                        m.next = "wait"
            with m.State("find"):
                m.d.comb += finder.start.eq(1)
                m.next = "place"
                with m.If(self.clear):
                    m.next = "wait"
            with m.State("place"):
                m.d.comb += [self.launch.valid.eq(finder.done & self.may_launch), self.refused.eq(self.refuses)]
                with m.If(self.begins | self.refused | self.clear):
                    m.next = "wait"
        return m

    def _registers(self, name: str, fields: tuple[str, ...]) -> dict[str, Signal]:
        """A register for each field of the record that is shown, or that the lane is found with."""
        layout = _record_layout(self._config, self._device)
        registers = {}
        for each in dict.fromkeys((*fields, "last_byte")):
            if each in layout.members:
                bits = Shape.cast(layout[each].shape).width
                if name == "follow" and each == "packed_bytes":
                    bits = exact_log2(self._config.link_beat_bytes)
                registers[each] = Signal(bits, name=f"{name}_{each}", reset_less=True)
        return registers

    def _follow(self, m: Module, record: data.View, front: dict[str, Signal], lane: Value, fetch: Value,
                loaded: Signal) -> None:
        """Writes requests into the memory, and reads them for the units behind the front, or to be launched again.

        A request is read while it is written, at least one word behind. Its last byte is written from the register of
        the front, which is loaded again eight cycles later at the earliest: after a stop.
        """
        bits = len(Value.cast(record))
        memory, word_bits = word_memory(bits, self._most)
        m.submodules.memory = memory
        write, read = memory.write_port(), memory.read_port()
        words = -(-bits // WORD_BITS)
        layout = record.shape()
        shown = self._registers("follow", _fields(self._config, self._device)[1])
        shown_lane = Signal.like(lane, reset_less=True)
        lanes = Array(Signal.like(lane, name=f"lane_{k}", reset_less=True) for k in range(self._most))
        place = Signal(range(self._most))       # of the transfer to show next
        behind = Signal(range(self._most + 1))  # launched, and not shown yet
        slot = Signal.like(place, reset_less=True)
        written, word, comes_word = (Signal(word_bits, name=name) for name in ("written", "word", "comes_word"))
        # `reads`: a word is read, for a launch if `again`, otherwise for `follow`; `comes`: it is there, a cycle later;
        # `shows`: it is the last one for `follow`.
        reads, again, comes, comes_again, shows = (
            Signal(name=name) for name in ("reads", "again", "comes", "comes_again", "shows"))
        spans = {}
        for what, registers in (("launch", front), ("follow", shown)):
            starts = [layout[name].offset for name in registers]
            ends = [layout[name].offset + len(register) - 1 for name, register in registers.items()]
            spans[what] = min(starts) // WORD_BITS, max(ends) // WORD_BITS
        padded = Signal(words * WORD_BITS)
        m.d.comb += [
            padded.eq(record), write.en.eq(self.writes), write.addr.eq(Cat(written, slot)),
            write.data.eq(padded.word_select(written, WORD_BITS)),
            self.request.ready.eq(self.writes & (written == words - 1)),
            read.en.eq(reads), read.addr.eq(Cat(word, Mux(again, self.next, place))),
            loaded.eq(comes & comes_again & (comes_word == spans["launch"][1])),
            shows.eq(comes & ~comes_again & (comes_word == spans["follow"][1])),
        ]
        with m.If(self.took):
            m.d.sync += [self.writes.eq(1), slot.eq(self.next), written.eq(0)]
        with m.Elif(self.writes):
            m.d.sync += [written.eq(written + 1), self.writes.eq(~self.request.ready)]
        m.d.sync += [comes.eq(reads & ~self.clear), comes_word.eq(word), comes_again.eq(again)]
        with m.If(reads):
            m.d.sync += word.eq(word + 1)
            with m.If(word == Mux(again, spans["launch"][1], spans["follow"][1])):
                m.d.sync += reads.eq(0)
        with m.Elif(~comes):
            with m.If(fetch):
                m.d.sync += [reads.eq(1), again.eq(1), word.eq(spans["launch"][0])]
            with m.Elif((behind != 0) & ~self.follow.valid):
                m.d.sync += [reads.eq(1), again.eq(0), word.eq(spans["follow"][0])]
        with m.If(self.clear):
            m.d.sync += reads.eq(0)
        with m.If(comes):
            for registers, taken in ((front, comes_again), (shown, ~comes_again)):
                with m.If(taken):
                    for name, register in registers.items():
                        load_words(m, register, layout[name].offset, comes_word, read.data)
        self._show(m, self.follow.payload, shown, shown_lane)
        with m.If(self.begins):
            m.d.sync += lanes[self.next].eq(lane)
        m.d.sync += behind.eq(behind + self.begins - shows)
        with m.If(shows):
            m.d.sync += [self.follow.valid.eq(1), shown_lane.eq(lanes[place])]
        with m.Elif(self.follow.ready):
            m.d.sync += self.follow.valid.eq(0)
        with m.If(shows | self.refused):
            m.d.sync += place.eq(Mux(place == self._most - 1, 0, place + 1))
        with m.If(self.clear):
            m.d.sync += [self.follow.valid.eq(0), behind.eq(0), place.eq(self.first)]

    def _show(self, m: Module, payload: data.View, registers: dict[str, Signal], lane: Value) -> None:
        block_bits = exact_log2(self._config.block_bytes)
        m.d.comb += payload.first_lane.eq(lane)
        m.d.comb += [Value.cast(payload.transfer[name]).eq(registers[name])
                     for name in payload.transfer.shape().members]
        if self._device == "source":
            last_byte = registers["last_byte"]
            m.d.comb += payload.last_block.eq(last_byte[block_bits:])
            if "tail_bytes" in payload.shape().members:
                m.d.comb += payload.tail_bytes.eq(last_byte[:block_bits] + 1)
