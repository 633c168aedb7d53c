"""Proofs of resets: after its one cycle of reset a unit behaves as if it had no past.

Registers of payloads have no reset on purpose. So not all of the state is equal after one, and what is to be shown is
that nothing depends on the rest: two copies with different pasts answer the same inputs with the same outputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from functools import reduce
from itertools import pairwise
from operator import or_
from types import MappingProxyType
from typing import Any

from amaranth.hdl import Cat, Const, Fragment, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import Flow

from cdma.hdl.codec.coding import WORD_BYTES
from cdma.hdl.codec.lines.compressor import Compressor
from cdma.hdl.codec.lines.decompressor import Decompressor
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.common.row_fifo import RowFifo
from cdma.hdl.common.skid import Skid, Spare
from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.axi.arbiter import AxiReadArbiter, AxiWriteArbiter
from cdma.hdl.engine.axi.bursts import BurstSplitter
from cdma.hdl.engine.axi.lite import AxiLite
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.writer import AxiWriter
from cdma.hdl.engine.control.checker import Checker
from cdma.hdl.engine.control.coalescer import Coalescer
from cdma.hdl.engine.control.descriptor import Operation
from cdma.hdl.engine.control.fetcher import Fetcher
from cdma.hdl.engine.control.ring import Ring
from cdma.hdl.engine.lanes.framer import Framer
from cdma.hdl.engine.link.aggregator import Aggregator
from cdma.hdl.engine.link.crc32c import Crc32c
from cdma.hdl.engine.link.distributor import Distributor
from cdma.hdl.engine.link.verdict import Verdict
from cdma.hdl.engine.paths.answers import Answers
from cdma.hdl.engine.paths.supervisor import Supervisor
from cdma.verif.formal.harness import Harness, assigned
from cdma.verif.formal.names import names_of
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import place_after

__all__ = ["PROOFS", "one_packet"]

_CHANNEL = re.compile(r"(aw|w|b|ar|r)(?!valid$|ready$)\w+")
_CONDITION = re.compile(r"(~?)([\w.$]+?)(?:=(\d+))?")
_EARLIER, _LATER = "earlier", "later"


class _Twins:
    """Two copies in a harness. Before the reset each is in any state; from then on both have the same free inputs.

    Every output is asserted to be equal in both, in every cycle. Payloads of streams and channels of AXI are compared
    while their ``valid`` is high; of other outputs ``gates`` says when they mean something. What a memory shows of a
    row that is written in the same cycle is chosen for each copy.

    Parameters
    ----------
    h : Harness
        The harness.
    make : callable
        Makes a copy.
    gates : mapping of str to str, optional
        Outputs, named by their paths with dots, and the conditions under which they are compared: signals inside the
        component or outputs of it, joined by `` & `` and `` | ``, each perhaps with ``~`` before it or ``=NUMBER``
        behind it. A path stands for all that begin with it. Of a beat with ``keep``, bytes that are not kept are not
        compared.
    """

    def __init__(self, h: Harness, make: Callable[[], Any], gates: Mapping[str, str] | None = None) -> None:
        self._h, self._gates = h, gates or {}
        self.copies = tuple(h.add(name, make()) for name in (_EARLIER, _LATER))
        """Both components."""
        self.ports: list[dict[str, Value]] = []
        """Ports of each copy, by their paths."""
        for copy in self.copies:
            self.ports.append({_dotted(path): Value.cast(value) for path, _, value in copy.signature.flatten(copy)})
        first = self.copies[0]
        outputs: list[str] = []
        for path, member, _ in first.signature.flatten(first):
            name = _dotted(path)
            both = self.ports[0][name], self.ports[1][name]
            if member.flow is Flow.Out:
                outputs += self._fields(name, member.shape)
                continue
            given = h.free(len(both[0]), f"given_{_plain(name)}")
            h.m.d.comb += [each.eq(given) for each in both]
        self._outputs = outputs
        for name in outputs:
            one, other = (ports[name] & self._kept(ports, name) for ports in self.ports)
            h.check(f"same_{_plain(name)}", ~self._gate(name) | (one == other))
        later = dict(_registers_of(h.part(_LATER), ""))
        self.registers = {path: (one, later[path]) for path, one in _registers_of(h.part(_EARLIER), "")}
        """Pairs of registers, by their paths."""

    def is_output(self, path: str) -> bool:
        """Whether a port is an output."""
        return path in self._outputs

    def _fields(self, name: str, shape: Any) -> list[str]:
        """The fields of an output, each a port of its own; just the output if it is no structure."""
        if not isinstance(shape, data.StructLayout):
            return [name]
        names = []
        for each, field in shape:
            for ports in self.ports:
                ports[f"{name}.{each}"] = ports[name][field.offset:field.offset + field.width]
            names += self._fields(f"{name}.{each}", field.shape)
        return names

    def _gate(self, name: str) -> Value:
        """When an output is compared."""
        for path, given in self._gates.items():
            if (name + ".").startswith(path + "."):
                return self.condition(given)
        folder, _, last = name.rpartition(".")
        before = f"{folder}." if folder else ""
        channel = _CHANNEL.fullmatch(last)
        for valid in (f"{before}{channel[1]}valid" if channel else "", f"{before}valid", self._valid_above(name)):
            if valid in self.ports[0] and valid != name and not last.endswith("ready"):
                return self.ports[0][valid]
        return Const(1)

    def _kept(self, ports: Mapping[str, Value], name: str) -> Value:
        """Bits of an output that mean something."""
        folder, _, last = name.rpartition(".")
        keep, ends = ports.get(f"{folder}.keep"), ports.get(f"{folder}.last")
        if last != "data" or keep is None or ends is None:
            return Const(-1, len(ports[name]))
        return Cat((bit | ~ends).replicate(8) for bit in keep)

    def _valid_above(self, name: str) -> str:
        parts = name.split(".")
        return ".".join([*parts[:parts.index("payload")], "valid"]) if "payload" in parts else ""

    def condition(self, text: str, copy: int = 0) -> Value:
        """A condition of ``gates`` in one copy."""
        if " | " in text:
            return Cat(self.condition(each, copy) for each in text.split(" | ")).any()
        total: Value = Const(1)
        for each in text.split(" & "):
            found = _CONDITION.fullmatch(each)
            if found is None:
                raise ValueError(f"a condition must be a signal, ~ and a signal, or a signal = a number, not {each!r}")
            negated, path, number = found.groups()
            if path in self.ports[copy]:
                signal = self.ports[copy][path]
            else:
                signal = Value.cast(self._h.inner(f"{(_EARLIER, _LATER)[copy]}.{path}"))
            value = signal.bool() if number is None else signal == int(number)
            total = total & (~value if negated else value)
        return total

    def cleared(self, but: Container[str] = ()) -> None:
        """The invariant that registers with a reset are equal, for proofs by induction; but for some."""
        for path, (one, other) in self.registers.items():
            if not one.reset_less and path not in but:
                self._h.check(f"cleared_{_plain(path)}", one == other)

    def loaded(self, conditions: Mapping[str, str]) -> None:
        """Invariants of registers that need not be equal, mostly those without a reset.

        They are equal under a condition, as those of ``gates``; always, if it is empty.
        """
        for path, text in conditions.items():
            one, other = self.registers[path]
            condition = self.condition(text) if text else Const(1)
            self._h.check(f"loaded_{_plain(path)}", ~condition | (one == other))

    def buffers(self) -> None:
        """Invariants of the FIFOs of :class:`cdma.hdl.common.fifo.StreamFifo` inside: what is in use of them is
        equal."""
        for path in [path for path in self.registers if path.endswith("fifo.inner_level")]:
            inside, folder = self.registers[path][0], path.removesuffix("inner_level")
            rows = [pair for name, pair in self.registers.items() if name.startswith(f"{folder}storage.row_")]
            produce, consume = (self.registers[folder + name][0] for name in ("produce", "consume"))
            depth, name = len(rows), _plain(folder)
            self._h.check(f"{name}_rows_fit", inside <= depth)
            self._h.check(f"{name}_places_fit", (produce < depth) & (consume < depth))
            self._h.check(f"{name}_places", produce == place_after(consume, Mux(inside == depth, 0, inside), depth))
            for number, (one, other) in enumerate(rows):
                behind = Mux(consume > number, number + depth - consume, number - consume)
                self._h.check(f"{name}_row_{number}", (behind >= inside) | (one == other))
            self.loaded({f"{folder}storage.shown_0": f"{folder}r_rdy"})

    def moved(self) -> Value:
        """Some register with a reset is not as it was in the cycle before."""
        state = Cat(one for one, _ in self.registers.values() if not one.reset_less)
        return (self._h.past(state, "state") != state) & self._h.past(Const(1), "later")

    def differ(self) -> Value:
        """Some register without a reset differs: the past is still inside."""
        pairs = [one != other for one, other in self.registers.values() if one.reset_less]
        return Cat(pairs).any() if pairs else Const(0)


def _dotted(path: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in path)


def _plain(path: str) -> str:
    return re.sub(r"\W+", "_", path).strip("_").lower()


def _registers_of(fragment: Fragment, before: str) -> Iterator[tuple[str, Signal]]:
    """Registers of a component and its parts, with names as :meth:`Harness.inner` takes them."""
    clocked = {id(signal) for domain, statements in fragment.statements.items() if domain != "comb"
               for statement in statements for signal in statement._lhs_signals()}
    for name, signal in names_of(assigned(fragment)):
        if id(signal) in clocked:
            yield before + name, signal
    for part, name, _ in fragment.subfragments:
        yield from _registers_of(part, f"{before}{name}.")


_TINY = load_engine("tiny")
_SMALLEST = load_engine("smallest")


def _behaves_alike(h: Harness, make: Callable[[], Any], gates: Mapping[str, str], loaded: Mapping[str, str],
                   around: Callable[[Harness, _Twins], object] | None, bounded: bool) -> None:
    """Two copies with different pasts, in reset for one cycle, give the same outputs to the same inputs, {given};
    payloads are compared while they are valid."""
    twins = _Twins(h, make, gates)
    if not bounded:
        twins.cleared(but=loaded)
        twins.buffers()
        twins.loaded(loaded)
    if around is not None:
        around(h, twins)
    if any(one.reset_less for one, _ in twins.registers.values()):
        h.cover("past_is_inside", twins.differ())
    h.cover("goes_on", twins.moved())
    valids = [value for path, value in twins.ports[0].items() if path.endswith("valid") and twins.is_output(path)]
    if valids:
        h.cover("output_is_valid", reduce(or_, valids))


_NOTHING: Mapping[str, str] = MappingProxyType({})


def _reset(name: str, file: str, make: Callable[[], Any], gates: Mapping[str, str] = _NOTHING,
           loaded: Mapping[str, str] = _NOTHING, *, cycles: int = 0, fits: str = "", which: str = "shallow",
           around: Callable[[Harness, _Twins], object] | None = None, given: str = "whatever these are") -> Proof:
    """The proof of a unit's reset.

    ``file`` is below ``hdl``; ``gates`` are those of :class:`_Twins`; ``loaded`` says when
    registers without a reset are equal, for the induction. With ``cycles`` the proof is about runs of that length, into
    which fits what ``fits`` says. ``around`` adds to the harness, and ``given`` says what it assumes.
    """
    return Proof(f"reset_{name}", f"hdl/{file}", _behaves_alike, {
        "make": make, "gates": gates, "loaded": loaded, "around": around, "bounded": bool(cycles)}, cycles or 1, which,
        coverage=f"from the reset on, {fits}" if cycles else "", cover_depth=cycles or 12, words={"given": given})


_FAULT = {"fault.resp": "fault.valid", "fault.address": "fault.valid"}
_SPLITTER = {
    **dict.fromkeys(("offset", "segment", "beats", "segments", "partial", "tail"), "fsm_state"),
    **dict.fromkeys(("length_less_one", "last", "carry", "counts", "borrow"), "fsm_state=2"),
}
_INSIDE = {f"splitter.{name}": f"splitter.{condition}" for name, condition in _SPLITTER.items()}
_READER = {**_INSIDE, "beat": "held", "fault_resp": "faulty", "fault_address": "faulty"}


def _within(folder: str, conditions: dict[str, str]) -> dict[str, str]:
    """Conditions of a part, as those of what it is in."""
    return {f"{folder}.{name}": re.sub(r"[\w.]*[a-z_]\w*", lambda found: f"{folder}.{found[0]}", condition)
            for name, condition in conditions.items()}


def _states(*numbers: int) -> str:
    return " | ".join(f"fsm_state={number}" for number in numbers)


def _rows(h: Harness, twins: _Twins) -> None:
    """A row that is read was written whole: parts of the open row are written before it is committed."""
    depth, parts = 4, 2
    ports = twins.ports[0]
    enable, commit = ports["enable"], ports["commit"]
    written = Signal(parts, name="written")
    h.m.d.sync += written.eq((written | enable) & ~commit.replicate(parts))
    h.assume("rows_are_whole", ~commit | (written | enable).all())
    h.assume("room", ~commit | (ports["level"] - (ports["o.valid"] & ports["o.ready"]) + 1 <= depth))
    opened, oldest, inside = (twins.registers[name][0] for name in ("opened", "oldest", "inside"))
    total = oldest + inside
    h.check("places_are_level_apart", opened == (total & (depth - 1)))
    h.check("rows_fit", ports["level"] <= depth)
    width = 8 // parts
    for row in range(depth):
        one, other = twins.registers[f"memory.row_{row}"]
        behind = ((row - oldest) & (depth - 1))
        for part in range(parts):
            here = (behind < inside) | ((opened == row) & written[part])
            h.check(f"row_{row}_{part}", ~here | (one.word_select(part, width) == other.word_select(part, width)))


def _rest(h: Harness, twins: _Twins) -> None:
    """The words that are left over from the beat before, if there are any."""
    idle, beat, flush, opening, place, here, part, held, current, final, payload = (
        twins.registers[name][0] for name in ("idle", "beat", "flush", "opening", "place", "here", "part_0", "held",
                                              "current", "final", "payload"))
    one, other = twins.registers["shifter.rest"]
    left = Mux(beat | flush, part[len(part) - len(place):], Mux(opening, place, here))
    h.check("rest", idle | ~(beat | flush | current.any()) | (left == 0) | (one == other))
    # Behind the last beat of a transfer come the words that are left, and nothing else.
    taken = ~current.any()
    h.check("nothing_in_idle", ~idle | (taken & ~beat & ~flush & ~held))
    h.check("nothing_behind_last_row", ~(held & payload[-1]) | (taken & ~beat & ~flush))
    h.check("nothing_behind_last_beat", ~(beat & final) | taken)
    h.check("nothing_beside_the_rest", ~flush | (taken & ~beat))


def one_packet(h: Harness, dut: Distributor) -> Signal:
    """Assume the stream of one transfer: a packet of whole words, one of them at least, behind one start; returns
    whether all of it was taken."""
    beat = dut.i.payload
    words = [beat.keep[first:first + WORD_BYTES] for first in range(0, len(beat.keep), WORD_BYTES)]
    started, ended = Signal(name="started"), Signal(name="ended")
    h.m.d.sync += [
        started.eq(started | (dut.start.valid & dut.start.ready)),
        ended.eq(ended | (dut.i.valid & dut.i.ready & beat.last)),
    ]
    h.assume("one_start", ~dut.start.valid | ~started)
    h.assume("one_packet", ~dut.i.valid | ~ended)
    h.assume("whole_words", words[0].all() & Cat(word.all() | ~word.any() for word in words).all())
    h.assume("kept_come_first", Cat(before.all() | ~word.any() for before, word in pairwise(words)).all())
    return ended


PROOFS = (
    _reset("skid", "common/skid.py", lambda: Skid(8), loaded={"output": "held", "spare": "full"}),
    _reset("spare", "common/skid.py", lambda: Spare(8), loaded={"kept": "full"}),
    _reset("fifo_4", "common/fifo.py", lambda: StreamFifo(8, 4)),
    _reset("fifo_5", "common/fifo.py", lambda: StreamFifo(8, 5)),
    _reset("row_fifo", "common/row_fifo.py", lambda: RowFifo(8, 2, 4), loaded={"memory.shown_0": "o.valid"},
           around=_rows, given="while rows are written whole and fit"),
    _reset("splitter", "engine/axi/bursts.py", lambda: BurstSplitter(24, 16, 16, 16), loaded=_SPLITTER),
    _reset("reader", "engine/axi/reader.py", lambda: AxiReader(24, 16, 16, 4, 16), _FAULT, _READER),
    _reset("writer", "engine/axi/writer.py", lambda: AxiWriter(24, 16, 16, 4, 16), _FAULT, {
        **_INSIDE, "left": "more", "final": "more", "tail": "more", "beat": "held", "fault_resp": "faulty",
        "fault_address": "faulty"}),
    _reset("axi_lite", "engine/axi/lite.py", lambda: AxiLite(12), {
        "port.address": "fsm_state", "port.write_data": "port.write", "port.write_strobe": "port.write"}, {
        "aw_held": "aw_full", "w_held": "w_full", "ar_held": "ar_full", "address": "fsm_state",
        "write_error": "bus.bvalid", "read_error": "bus.rvalid", "read_data": "bus.rvalid"}),
    _reset("read_arbiter", "engine/axi/arbiter.py", lambda: AxiReadArbiter(16, 4, 3, 4), loaded=dict.fromkeys(
        ("held_araddr", "held_arlen", "held_arsize", "held_arburst"), "o.arvalid")),
    _reset("write_arbiter", "engine/axi/arbiter.py", lambda: AxiWriteArbiter(16, 4, 3, 4), loaded=dict.fromkeys(
        ("held_awaddr", "held_awlen", "held_awsize", "held_awburst"), "o.awvalid")),
    _reset("ring", "engine/control/ring.py", lambda: Ring(_TINY)),
    _reset("coalescer", "engine/control/coalescer.py", Coalescer),
    _reset("crc", "engine/link/crc32c.py", lambda: Crc32c(16), {"value": "done"}, {
        **dict.fromkeys(("addend", "ends", "count"), "arrived"), "state": "~fresh", "closing": "finishing | done",
        "left": "finishing"}),
    _reset("framer", "engine/lanes/framer.py", lambda: Framer(_TINY), loaded={
        "held_long": "~first", "carry": "~first"}),
    _reset("verdict", "engine/link/verdict.py", lambda: Verdict(_TINY), loaded={
        "best": "fsm_state=2 | fsm_state=3 | fsm_state=4", "lane": "fsm_state=2 | fsm_state=3",
        "other": "fsm_state=3"}),
    _reset("answers", "engine/paths/answers.py", lambda: Answers(_TINY)),
    _reset("checker", "engine/control/checker.py", lambda: Checker(_TINY, Operation.OFFLOAD), dict.fromkeys(
        ("status", "request", "tag", "operation", "interrupt"), "done"), cycles=24, which="deep",
        fits="a descriptor is checked, which takes 19"),
    _reset("aggregator", "engine/link/aggregator.py", lambda: Aggregator(_TINY), dict.fromkeys(
        ("bytes", "nonzero", "raw_blocks"), "done"), {
        **dict.fromkeys(("opening", "head", "place", "some", "one", "near", "reserved", "draws", "reserve", "odd",
                         "full_beats", "ledger.purse", "ledger.reserve"), "~idle"),
        "here": "~idle & ~opening", "facts": "beat", "part_0": "beat | flush", "payload": "held",
        "shifter.row": "held"}, which="deep", around=_rest),
    _reset("distributor", "engine/link/distributor.py", lambda: Distributor(_TINY), cycles=8, which="deep",
           around=lambda h, twins: one_packet(h, twins.copies[0]),
           given="while a packet of whole words follows one start", fits="first rows of a block at its lane"),
    _reset("supervisor", "engine/paths/supervisor.py", lambda: Supervisor(_SMALLEST, "source", 2), loaded={
        **dict.fromkeys(("totalled", "good", "cause"), "told | fsm_state"),
        **dict.fromkeys((f"launcher.launch_{name}" for name in (
            "source", "element", "exponents", "narrow", "fallback", "leave_raw", "destination", "capacity",
            "last_byte")), "launcher.fsm_state | follow.valid")}),
    _reset("compressor", "codec/lines/compressor.py", lambda: Compressor(16, (4,)),
           {"error": "o.valid & o.payload.last"}, cycles=12, which="deep", fits="packed beats of the first packets"),
    _reset("decompressor", "codec/lines/decompressor.py", lambda: Decompressor(16, (4,)),
           {"error": "o.valid & o.payload.last"}, cycles=7, which="deep", fits="raw beats of the first packet"),
    _reset("fetcher", "engine/control/fetcher.py", lambda: Fetcher(_SMALLEST),
           {"fill.word": "fill.valid", "fill.data": "fill.valid"}, {
               "base": "fsm_state", "index": "fsm_state", "low": _states(2, 3, 4, 5), "high": _states(3, 4, 5),
               "resp": "faulty | failed | fsm_state=4", "address": "axi.arvalid",
               "rows.fifo.r_data": "rows.fifo.level"}),
)
"""Proofs of resets."""
