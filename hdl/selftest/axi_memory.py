"""A memory of block RAM behind an AXI4 port, which answers late, pauses, and checks what its master does."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from cdma.hdl.common.bits import ones, thermometer
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.engine.axi.bursts import INCR
from cdma.hdl.engine.axi.signature import Resp, axi_full

__all__ = ["PAUSE_BITS", "AxiMemory", "Delay", "faults_layout", "local_port"]

_CHANNELS = ("ar", "r", "aw", "w", "b")
_DRAWN = 3

PAUSE_BITS = _DRAWN * len(_CHANNELS)
"""Bits of noise that a memory takes each cycle."""

_REQUESTS = 3
_PAGE = 4096


def local_port(rows: int, beat_bytes: int) -> wiring.Signature:
    """Access past the AXI port, as its user has it, for the time in which the AXI port is idle.

    ``use`` claims the memory. ``row`` is then read, and shows at ``read_data`` in the next cycle; the bytes of the row
    with a bit in ``write`` become those of ``write_data``.
    """
    return wiring.Signature({"use": Out(1), "row": Out(range(rows)), "write": Out(beat_bytes),
                             "write_data": Out(8 * beat_bytes), "read_data": In(8 * beat_bytes)})


def faults_layout() -> data.StructLayout:
    """What a master has done wrong, until ``clear``.

    ``outside``: a burst that is not wholly in the memory. ``burst``: one that is not INCR, has beats of another size,
    or crosses a 4 KiB boundary. ``last``: ``wlast`` at another beat than the last one. ``strayed``: a byte written
    outside the window.
    """
    return data.StructLayout({"outside": 1, "burst": 1, "last": 1, "strayed": 1})


class Delay(wiring.Component):
    """First in, first out; what comes in goes out after at least ``latency`` cycles.

    ::

        i --> [FIFO: payload, time it came] --> old enough --> o

    Latencies of transfers overlap, as those of outstanding reads do. The time is counted modulo a power of two: a
    transfer that waits behind others may wait for one more turn of the count.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Transfers it holds.
    latency : int
        Cycles from a transfer at ``i`` to the first cycle in which it is valid at ``o``; less than 3 counts as 3.

    Members
    -------
    i, o : stream.Signature(shape)
        In and out.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike, depth: int, latency: int):
        self._shape = shape
        self._depth = depth
        # The register of the age takes a cycle.
        self._wait = max(0, latency - 1)
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = ceil_log2(2 * self._wait + 8)
        layout = data.StructLayout({"payload": Shape.cast(self._shape).width, "time": bits})
        m.submodules.fifo = fifo = StreamFifo(layout, self._depth)
        now = Signal(bits)
        age = Signal(bits)
        old = Signal()
        moves = Signal()
        m.d.sync += [now.eq(now + 1), old.eq((old | (fifo.o.valid & (age >= self._wait))) & ~moves)]
        m.d.comb += [
            age.eq(now - fifo.o.payload.time),
            moves.eq(self.o.valid & self.o.ready),
            fifo.i.payload.payload.eq(Value.cast(self.i.payload)),
            fifo.i.payload.time.eq(now),
            fifo.i.valid.eq(self.i.valid),
            self.i.ready.eq(fifo.i.ready),
            Value.cast(self.o.payload).eq(fifo.o.payload.payload),
            self.o.valid.eq(fifo.o.valid & old),
            fifo.o.ready.eq(moves),
        ]
        return m


class AxiMemory(wiring.Component):
    """An AXI4 subordinate with a memory behind it.

    ::

        ar --> [delay] --> burst --> row --+
                                           v
        r  <-------------------------- [block RAM] <-- row, strobes <-- w
                                           ^                            ^
        local -----------------------------+       aw --> [FIFO] -------+--> [delay] --> b

    The first beat of a burst comes ``latency`` cycles after its address or later, a write response ``latency`` cycles
    after the last beat or later. Each channel pauses in one of eight cycles at random. Bursts are INCR, of whole beats;
    up to three reads and three writes are taken in advance. A burst that is not wholly in the memory is answered with
    DECERR, and one that breaks another rule with SLVERR; neither changes the memory.

    Of several memories whose blocks are interleaved, each holds its own blocks, without gaps.

    Parameters
    ----------
    address_bits, beat_bytes : int
        Bits of an address, bytes of a beat.
    base, size : int
        Address of the first byte, a multiple of the power of two from ``size`` on; bytes of all interleaved memories.
    window : int
        Place of the first byte that may be written, a multiple of the beat.
    latency : int
        Cycles.
    block_bytes, lanes, lane : int
        Bytes of a block; how many memories are interleaved, a power of two; which of them this is.

    Members
    -------
    axi : In(axi_full(address_bits, beat_bytes))
        The port.
    local : In(local_port(...))
        Access past the port.
    noise : In(PAUSE_BITS)
        Random bits, new in each cycle.
    clear : In(1)
        Set ``written`` and ``faults`` to 0.
    writable : In(range(size + 1))
        Bytes of the window, from ``window`` on.
    written : Out(32)
        Bytes written through the AXI port.
    faults : Out(faults_layout())
        What the master has done wrong.

    Source: AMBA AXI and ACE (IHI 0022), A3 (handshakes, bursts, strobes, responses).
    """

    def __init__(self, address_bits: int, beat_bytes: int, base: int, size: int, window: int, latency: int, *,
                 block_bytes: int = _PAGE, lanes: int = 1, lane: int = 0):
        self._sizes = address_bits, beat_bytes
        self._base, self._rows, self._window = base, size // beat_bytes, window // beat_bytes
        self._latency = latency
        self._block_rows, self._lanes, self._lane = block_bytes // beat_bytes, lanes, lane
        super().__init__({
            "axi": In(axi_full(address_bits, beat_bytes)),
            "local": In(local_port(self._rows // lanes, beat_bytes)),
            "noise": In(PAUSE_BITS), "clear": In(1), "writable": In(range(size + 1)),
            "written": Out(32), "faults": Out(faults_layout()),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = store = memory.Memory(shape=8 * self._sizes[1], depth=self._rows // self._lanes, init=[])
        pauses = {channel: self.noise.word_select(k, _DRAWN) == 0 for k, channel in enumerate(_CHANNELS)}
        found = Signal(faults_layout())
        with m.If(self.clear):
            m.d.sync += [self.faults.eq(0), self.written.eq(0)]
        with m.Else():
            m.d.sync += self.faults.eq(self.faults.as_value() | found.as_value())
        wrong = [self._reads(m, store, pauses), self._writes(m, store, pauses, found)]
        m.d.comb += [
            self.local.read_data.eq(store.read_ports[0].data),
            found.outside.eq(Cat(outside for outside, _ in wrong).any()),
            found.burst.eq(Cat(burst for _, burst in wrong).any()),
        ]
        return m

    def _layout(self) -> data.StructLayout:
        """A burst that was asked for: its first row, its beats less one, and its response."""
        return data.StructLayout({"row": range(self._rows), "len": 8, "resp": Resp})

    def _request(self, m: Module, channel: str, queue: stream.Interface, paused: Value) -> tuple[Value, Value]:
        """Checks the bursts of a channel on their way into a queue; whether one is outside, or not allowed."""
        axi, beat_bytes = self.axi, self._sizes[1]
        address, beats, size, kind, valid, ready = (
            getattr(axi, f"{channel}{part}") for part in ("addr", "len", "size", "burst", "valid", "ready"))
        shift, top = exact_log2(beat_bytes), ceil_log2(self._rows * beat_bytes)
        row, final = Signal(top - shift), Signal(range(self._rows + 256))
        outside, wrong = Signal(name=f"{channel}_outside"), Signal(name=f"{channel}_wrong")
        block = exact_log2(self._block_rows)
        others = exact_log2(self._lanes)
        in_page = (address[shift:12] + beats)[12 - shift]
        foreign = row[block:block + others] != self._lane if others else 0
        leaves = (row >> block) != (final >> block) if others else 0
        m.d.comb += [
            row.eq(address[shift:top]),
            final.eq(row + beats),
            outside.eq((address[top:] != self._base >> top) | (final >= self._rows) | foreign | leaves),
            wrong.eq((kind != INCR) | (size != shift) | in_page | address[:shift].any()),
            ready.eq(queue.ready & ~paused),
            queue.valid.eq(valid & ~paused),
            queue.payload.row.eq(row),
            queue.payload.len.eq(beats),
            queue.payload.resp.eq(Mux(outside, Resp.DECERR, Mux(wrong, Resp.SLVERR, Resp.OKAY))),
        ]
        taken = valid & ready
        return taken & outside, taken & wrong

    def _local(self, row: Value) -> Value:
        """The row in this memory of a row of all interleaved ones."""
        block, others = exact_log2(self._block_rows), exact_log2(self._lanes)
        return Cat(row[:block], row[block + others:]) if others else row

    def _reads(self, m: Module, store: memory.Memory, pauses: dict[str, Value]) -> tuple[Value, Value]:
        axi = self.axi
        m.submodules.asked = asked = Delay(self._layout(), _REQUESTS, self._latency)
        wrong = self._request(m, "ar", asked.i, pauses["ar"])
        port = store.read_port()
        burst = Signal(self._layout())
        serves = Signal()
        beat = Signal()
        final = burst.len == 0
        m.d.comb += [
            beat.eq(serves & ~pauses["r"] & (~axi.rvalid | axi.rready)),
            asked.o.ready.eq(~serves | (beat & final)),
            port.en.eq(self.local.use | beat),
            port.addr.eq(Mux(self.local.use, self.local.row, self._local(burst.row))),
            axi.rdata.eq(port.data),
        ]
        with m.If(axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        with m.If(beat):
            m.d.sync += [axi.rvalid.eq(1), axi.rlast.eq(final), axi.rresp.eq(burst.resp),
                         burst.row.eq(burst.row + 1), burst.len.eq(burst.len - 1)]
        with m.If(asked.o.ready):
            m.d.sync += [serves.eq(asked.o.valid), burst.eq(asked.o.payload)]
        return wrong

    def _writes(self, m: Module, store: memory.Memory, pauses: dict[str, Value], found: data.View,
                ) -> tuple[Value, Value]:
        axi, n = self.axi, self._sizes[1]
        m.submodules.asked_writes = asked = StreamFifo(self._layout(), _REQUESTS)
        m.submodules.answers = answers = Delay(Resp, _REQUESTS, self._latency)
        wrong = self._request(m, "aw", asked.i, pauses["aw"])
        port = store.write_port(granularity=8)
        number = Signal(8)
        row = Signal(range(self._rows))
        beat = Signal()
        final = Signal()
        burst = asked.o.payload
        allowed = burst.resp == Resp.OKAY
        m.d.comb += [
            axi.wready.eq(asked.o.valid & answers.i.ready & ~pauses["w"]),
            beat.eq(axi.wvalid & axi.wready),
            final.eq(number == burst.len),
            asked.o.ready.eq(beat & final),
            answers.i.valid.eq(beat & final),
            answers.i.payload.eq(burst.resp),
            found.last.eq(beat & (axi.wlast != final)),
            row.eq(burst.row + number),
            port.addr.eq(Mux(self.local.use, self.local.row, self._local(row))),
            port.data.eq(Mux(self.local.use, self.local.write_data, axi.wdata)),
            port.en.eq(Mux(self.local.use, self.local.write, axi.wstrb & (beat & allowed).replicate(n))),
        ]
        with m.If(beat):
            m.d.sync += number.eq(Mux(final, 0, number + 1))

        # What was written is judged and counted a cycle later.
        strobes = Signal(n)
        place = Signal(range(self._rows))
        end = Signal(range(self._window + self._rows + 1))
        shift = exact_log2(n)
        m.d.sync += [strobes.eq(axi.wstrb & beat.replicate(n)), place.eq(row),
                     end.eq(self._window + (self.writable >> shift))]
        kept = Mux(place < self._window, 0, Mux(place < end, (1 << n) - 1, Mux(
            place == end, thermometer(self.writable[:shift], n), 0)))
        m.d.comb += found.strayed.eq((strobes & ~kept).any())
        with m.If(~self.clear):
            m.d.sync += self.written.eq(self.written + ones(strobes))

        with m.If(axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        m.d.comb += answers.o.ready.eq((~axi.bvalid | axi.bready) & ~pauses["b"])
        with m.If(answers.o.ready & answers.o.valid):
            m.d.sync += [axi.bvalid.eq(1), axi.bresp.eq(answers.o.payload)]
        return wrong

