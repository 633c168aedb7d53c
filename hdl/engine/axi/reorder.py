"""Reads with an identifier each: bursts come back in any order, and leave in the order of their requests."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from cdma.hdl.engine.axi.bursts import MOST_BEATS, burst_beats
from cdma.hdl.engine.axi.signature import axi_read

__all__ = ["AxiReorder"]


class AxiReorder(wiring.Component):
    """Gives every outstanding burst an identifier of its own, and puts what comes back in order.

    ::

        i ar ----------------------------+-----------------------------> o ar, arid: the next slot
                                         v
                             [slots: due, rows, came]
                                |                 |
        i r <--- [read register] <--- [memory] <--- [register] <------- o r, rid: the slot
                  in order of         a slot has a                      any order of slots,
                  the requests        burst's rows                      mixed as well

    A burst takes the next *slot*, whose number is its identifier; slots are a ring. A beat that arrives goes to the
    next row of its slot, with its response. The slots are read in the order of the requests, each row as soon as it is
    there, and a slot is free again when its last row was read. So no two outstanding bursts ever have the same
    identifier.

    =====  ==============================================================================
    cycle  for a beat, if it is the next one in order
    =====  ==============================================================================
    0      taken at ``o``
    1      in the register; written into its slot
    2      its row is read
    3      valid at ``i``
    =====  ==============================================================================

    Latency: none for a request, 3 cycles for a beat. Throughput: one beat per cycle, each way; across bursts in the
    order of the requests as long as ``ids`` bursts cover the latency: a slot is in use for the memory's latency, the
    beats of its burst, and 3 cycles.

    Every row has its place from the request on, so ``o.rready`` is a register's: high while a beat is due, and never
    low because ``i`` is slow. While no beat is due and no request waits, the port owes nothing
    (:mod:`cdma.hdl.engine.axi.watch`). Beats are counted, slot by slot: ``o.rlast`` is ignored, and so are beats of a
    slot that has all of its own. ``i.rlast`` is right; ``i.rid`` is 0.

    Nothing is withdrawn or dropped in here: masters that stop take all beats of their bursts, and then no slot is in
    use. There is nothing to reset, and nothing of before can come out, but with the reset of the whole domain.

    Parameters
    ----------
    address_bits, beat_bytes : int
        Bits of an address, bytes of a beat.
    ids : int
        Slots, 2 or more: the greatest number of outstanding bursts.
    most_beats : int
        Greatest number of beats of a burst, a power of two. The memory has ``ids`` times as many rows, or ``ids`` x 4
        KiB if that is less; a row has the bits of a beat, and 2 for the response.

    Members
    -------
    i : In(axi_read(address_bits, beat_bytes))
        From the masters.
    o : Out(axi_read(address_bits, beat_bytes, id_bits))
        The port.

    Source: AMBA AXI and ACE (IHI 0022), A3 (handshakes), A5.3 (reads of different identifiers come in any order, and
    their beats may be mixed; those of a burst stay in order).
    """

    def __init__(self, address_bits: int, beat_bytes: int, ids: int, most_beats: int = MOST_BEATS):
        self._beat_bytes = beat_bytes
        self._ids = ids
        self._rows = burst_beats(beat_bytes, most_beats)
        super().__init__({"i": In(axi_read(address_bits, beat_bytes)),
                          "o": Out(axi_read(address_bits, beat_bytes, ceil_log2(ids)))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        near, far, ids = self.i, self.o, self._ids
        row_bits = exact_log2(self._rows)
        beat = data.StructLayout({"data": 8 * self._beat_bytes, "resp": 2})
        m.submodules.memory = memory = Memory(shape=beat, depth=ids * self._rows, init=[])
        write, read = memory.write_port(), memory.read_port()

        # Requests.
        newest, oldest = Signal(range(ids)), Signal(range(ids))
        used = Signal(range(ids + 1))
        free, begins, leaves = Signal(), Signal(), Signal()
        m.d.comb += [
            *(getattr(far, name).eq(getattr(near, name)) for name in ("araddr", "arlen", "arsize", "arburst")),
            far.arid.eq(newest),
            free.eq(used != ids),
            far.arvalid.eq(near.arvalid & free),
            near.arready.eq(far.arready & free),
            begins.eq(near.arvalid & near.arready),
        ]
        m.d.sync += used.eq(used + begins - leaves)
        with m.If(begins):
            m.d.sync += newest.eq(self._after(newest))

        # By slot: whether beats are due, the row of the last one, and the row of the next one.
        due = Signal(ids)
        last = [Signal(row_bits, name=f"last_{k}", reset_less=True) for k in range(ids)]
        next_ = [Signal(row_bits, name=f"next_{k}", reset_less=True) for k in range(ids)]
        came, slot = Signal(), Signal(range(ids), reset_less=True)
        taken = Signal(beat, reset_less=True)
        m.d.comb += [far.rready.eq(due.any()), write.data.eq(taken)]
        m.d.sync += [came.eq(far.rvalid & far.rready), slot.eq(far.rid), taken.data.eq(far.rdata),
                     taken.resp.eq(far.rresp)]
        with m.Switch(slot):
            for k in range(ids):
                with m.Case(k):
                    m.d.comb += [write.en.eq(came & due[k]), write.addr.eq(Cat(next_[k], Const(k, len(slot))))]
        for k in range(ids):
            with m.If(begins & (newest == k)):
                m.d.sync += [due[k].eq(1), last[k].eq(near.arlen), next_[k].eq(0)]
            with m.Elif(came & (slot == k)):
                m.d.sync += next_[k].eq(next_[k] + 1)
                with m.If(next_[k] == last[k]):
                    m.d.sync += due[k].eq(0)

        # In order.
        row = Signal(row_bits)
        there, ends, reads, shown = Signal(), Signal(), Signal(), Signal()
        final = Signal(reset_less=True)
        with m.Switch(oldest):
            for k in range(ids):
                with m.Case(k):
                    m.d.comb += [there.eq(~due[k] | (row != next_[k])), ends.eq(row == last[k])]
        m.d.comb += [
            reads.eq((used != 0) & there & (~shown | near.rready)),
            leaves.eq(reads & ends),
            read.en.eq(reads), read.addr.eq(Cat(row, oldest)),
            near.rvalid.eq(shown),
            near.rdata.eq(read.data.data), near.rresp.eq(read.data.resp), near.rlast.eq(final),
        ]
        m.d.sync += shown.eq(reads | (shown & ~near.rready))
        with m.If(reads):
            m.d.sync += [row.eq(Mux(ends, 0, row + 1)), final.eq(ends)]
        with m.If(leaves):
            m.d.sync += oldest.eq(self._after(oldest))
        return m

    def _after(self, slot: Signal) -> Value:
        """The slot behind this one."""
        return Mux(slot == self._ids - 1, 0, slot + 1)
