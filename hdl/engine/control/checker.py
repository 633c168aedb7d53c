"""Checks a descriptor word by word, and makes it a transfer or the status of its first failure."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Array, Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import EXPONENTS, TAGS_FIRST
from cdma.hdl.codec.narrowing.rounding import NARROWED_BYTES, Narrowing
from cdma.hdl.common.counters import joined_carry, joined_sums, part_carries, part_sums
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.page_list import ENTRY_BYTES
from cdma.hdl.engine.axi.pages import LARGEST_PAGE, PAGES_BITS, SMALLEST_PAGE
from cdma.hdl.engine.control.descriptor import RECORD_WORDS, Operation, descriptor_layout, flags_layout
from cdma.hdl.engine.control.table import WINDOW_BITS
from cdma.hdl.engine.control.windows import windows_layout
from cdma.hdl.engine.transfer.records import LENGTH_BITS, Status, request_layout

__all__ = ["Checker"]

_HIGH_BITS = LENGTH_BITS - 32
_ORDER = (0, 13, 14, 15, 6, 7, 10, 11, 2, 3, 4, 5, 8, 9, 12, 1)
"""Order in which the words are read. Lengths come before the addresses they are added to. Words that are not added come
last, because sums are known two steps late."""
_WINDOWS_ORDER = (0, 13, 6, 7, 10, 11, 2, 3, 4, 5, 8, 9, 14, 15, 12, 1)
"""The same with address windows: sums are compared with them three steps later."""
_STATUS = (Status.BAD_OPERATION, Status.CODING_NOT_BUILT, Status.BAD_FLAGS, Status.BAD_RESERVED, Status.BAD_RAW_BYTES,
           Status.BAD_PACKED_BYTES, Status.BAD_PAGE_LIST, Status.BAD_SOURCE, Status.BAD_DESTINATION,
           Status.SOURCE_OUTSIDE_WINDOW, Status.DESTINATION_OUTSIDE_WINDOW, Status.DESTINATION_TOO_SMALL)
_OF_WINDOWS = (Status.SOURCE_OUTSIDE_WINDOW, Status.DESTINATION_OUTSIDE_WINDOW)

_PAGE_SIZE_BITS = Shape.cast(descriptor_layout()["page_size"].shape).width


class Checker(wiring.Component):
    """Reads a descriptor, one word per cycle, and checks it with one 32-bit adder.

    ::

        word --> (queue) --> data --> [word] --+--> fields of the transfer
                                               +--> [sums of 8 bits] --> [sum] --> ends of addresses --+
                                               +--> [windows' bases] -------------- [limits] <---------+
                                               +--> failures, one bit each <---------------------------+
                                                       +--> the first one: status

    Latency: ``done`` comes 19 cycles after ``start``.

    Parameters
    ----------
    config : EngineConfig
        What is built: it decides what a descriptor may ask for.
    operation : Operation
        The operation that descriptors of this queue must have.

    Members
    -------
    start : In(1)
        High for one cycle: a descriptor is there.
    word : Out(4)
        Number of the word to read.
    data : In(32)
        That word, one cycle later.
    windows : In(windows_layout(config))
        The address windows, if they are built. They do not change from the cycle after ``start`` until ``done``.
    done : Out(1)
        High for one cycle. The outputs below are valid from then until the next start.
    status : Out(Status)
        OK, or the first check that failed, in the order of ``_STATUS`` in this file.
    request : Out(request_layout(config))
        The transfer.
    tag, operation, interrupt : Out
        Fields of the descriptor that the completion needs.
    """

    def __init__(self, config: EngineConfig, operation: Operation):
        self._config = config
        self._operation = operation
        self._order = _WINDOWS_ORDER if config.address_windows else _ORDER
        self._statuses = tuple(each for each in _STATUS if config.address_windows or each not in _OF_WINDOWS)
        super().__init__({
            "start": In(1), "word": Out(4), "data": In(32), "done": Out(1), "status": Out(Status),
            "request": Out(request_layout(config)), "tag": Out(32), "operation": Out(8), "interrupt": Out(1),
            **({"windows": In(windows_layout(config))} if config.address_windows else {}),
        })

    def _step(self, field: str, word: int = 0) -> int:
        """The step at which a word of a field is read."""
        return self._order.index(descriptor_layout()[field].offset // 32 + word)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        offload = self._operation is Operation.OFFLOAD
        request = Signal(request_layout(config), reset_less=True)
        tag = Signal(32, reset_less=True)
        operation = Signal(8, reset_less=True)
        interrupt = Signal(reset_less=True)
        fails = Signal(data.StructLayout({status.name: 1 for status in self._statuses}), reset_less=True)
        m.d.comb += [self.request.eq(request), self.tag.eq(tag), self.operation.eq(operation),
                     self.interrupt.eq(interrupt)]
        if offload:
            # An offload has no packed length, and a field that is never assigned has no value in the Verilog.
            m.d.sync += request.packed_bytes.eq(0)

        # A word arrives two steps after its number was output; its sum is known two steps after that.
        step = Signal(range(len(self._order)))
        steps = {"asks": step}
        works = {"asks": Signal(name="asks")}
        stages = ("asks", "comes", "there", "adds", "added", *(("compared",) if config.address_windows else ()))
        for earlier, later in pairwise(stages):
            steps[later] = Signal.like(step, name=f"step_{later}", reset_less=True)
            works[later] = Signal(name=later)
            m.d.sync += [steps[later].eq(steps[earlier]), works[later].eq(works[earlier])]
        asks, there = works["asks"], works["there"]
        word = Signal(32, reset_less=True)
        m.d.comb += self.word.eq(Array(self._order)[step])
        m.d.sync += [
            asks.eq(self.start | (asks & (step != len(self._order) - 1))),
            self.done.eq(there & ~works["comes"]),
        ]
        with m.If(asks):
            m.d.sync += step.eq(step + 1)
        with m.If(works["comes"]):
            m.d.sync += word.eq(self.data)
        zero = Signal()
        was_zero = Signal(reset_less=True)
        m.d.comb += zero.eq(word == 0)
        m.d.sync += was_zero.eq(zero)

        def length_fails(name: str, misfits: Value) -> tuple[list[Value], list[Value]]:
            """Statements for the two words of a length; ``misfits``: the first word fails its check."""
            fail = fails[name]
            return [fail.eq(misfits)], [fail.eq(fail | word[_HIGH_BITS:].any() | (zero & was_zero))]

        high = config.address_bits - 32
        added = Signal(32)          # addend of this word
        second = Signal()           # this word is the upper half of a sum
        subtracts = Signal()        # this word is subtracted from `added` instead
        with m.If(there), m.Switch(steps["there"]):
            with m.Case(self._step("operation")):
                self._head(m, word, request, fails, operation, interrupt)
            with m.Case(self._step("tag")):
                m.d.sync += tag.eq(word)
            self._page_list(m, word, zero, request, fails)
            with m.Case(self._order.index(RECORD_WORDS - 1)):
                m.d.sync += fails.BAD_RESERVED.eq(fails.BAD_RESERVED | ~zero)

            low, rest = length_fails("BAD_RAW_BYTES", Mux(
                request.element[2] | (request.narrow != Narrowing.NONE), word[:2].any(),
                request.element[1] & word[0]))
            with m.Case(self._step("raw_bytes")):
                m.d.sync += [request.raw_bytes[:32].eq(word), low]
            with m.Case(self._step("raw_bytes", 1)):
                m.d.sync += [request.raw_bytes[32:].eq(word), rest]

            low, rest = length_fails("BAD_PACKED_BYTES", word[:2].any())
            with m.Case(self._step("packed_bytes")):
                m.d.sync += fails.BAD_PACKED_BYTES.eq(~zero) if offload else [
                    request.packed_bytes[:32].eq(word), low]
            with m.Case(self._step("packed_bytes", 1)):
                m.d.sync += fails.BAD_PACKED_BYTES.eq(fails.BAD_PACKED_BYTES | ~zero) if offload else [
                    request.packed_bytes[32:].eq(word), rest]

            # Behind the address at the link are the bytes of the stream, or those of its page list.
            length: Value = request.raw_bytes if offload else request.packed_bytes
            linked: Value = Const(0, LENGTH_BITS) if offload else length
            if config.page_lists:
                linked = Mux(request.listed, (request.pages << exact_log2(ENTRY_BYTES)), linked)
                length = length if offload else linked
            for name, field, unit, behind in (
                    ("BAD_SOURCE", "source", config.block_bytes if offload else config.link_beat_bytes, length),
                    ("BAD_DESTINATION", "destination",
                     config.link_beat_bytes if offload else config.block_bytes,
                     linked if offload else request.raw_bytes)):
                with m.Case(self._step(field)):
                    m.d.comb += added.eq(behind[:32])
                    m.d.sync += [request[field][:32].eq(word), fails[name].eq(word[:exact_log2(unit)].any())]
                with m.Case(self._step(field, 1)):
                    m.d.comb += [added.eq(behind[32:]), second.eq(1)]
                    m.d.sync += [request[field][32:].eq(word), fails[name].eq(fails[name] | word[high:].any())]

            # Offload adds the capacity to the destination; prefetch subtracts it from the raw length.
            minuend: Value = request.destination if offload else request.raw_bytes
            if offload and config.page_lists:
                minuend = Mux(request.listed, 0, minuend)
            with m.Case(self._step("capacity")):
                m.d.comb += [added.eq(minuend[:32]), subtracts.eq(not offload)]
                m.d.sync += request.capacity[:32].eq(word)
            with m.Case(self._step("capacity", 1)):
                m.d.comb += [added.eq(minuend[32:]), second.eq(1), subtracts.eq(not offload)]
                m.d.sync += request.capacity[32:].eq(word)
                with m.If(word[_HIGH_BITS:].any()):
                    m.d.sync += request.capacity.eq((1 << LENGTH_BITS) - 1)
            with m.Case(self._step("crc")):
                m.d.sync += request.crc.eq(word)

        total = self._sums(m, word, added, second, subtracts, steps["added"], works["added"], request, fails)
        if config.address_windows:
            self._windows(m, word, total, steps, works, request, fails)
        for status in reversed(self._statuses):
            with m.If(fails[status.name]):
                m.d.comb += self.status.eq(status)
        return m

    def _sums(self, m: Module, word: Signal, added: Signal, second: Signal, subtracts: Signal,
              step: Signal, valid: Signal, request: data.View, fails: data.View) -> Signal:
        """Computes 64-bit sums in two steps of 32 bits, and sets the failures that depend on them.

        The first step passes on its carry, and whether the lower half of the sum was zero. ``step`` is the step of the
        word whose sum is ready, if ``valid``. Returns that sum.
        """
        offload = self._operation is Operation.OFFLOAD
        high = self._config.address_bits - 32
        sums = part_sums(word ^ subtracts.replicate(32), added)
        parts = Signal(len(sums), reset_less=True)
        seconds = Signal(reset_less=True)
        total = Signal(33, reset_less=True)
        inexact = Signal(reset_less=True)
        beyond = Signal()           # the end is beyond the last address that was built
        m.d.comb += beyond.eq(total[high + 1:].any() | (total[high] & (total[:high].any() | inexact)))
        m.d.sync += [
            parts.eq(sums),
            seconds.eq(second),
            total.eq(joined_sums(parts, total[32] & seconds)),
            inexact.eq(total[:32].any()),
        ]
        with m.If(valid), m.Switch(step):
            for name, field in (("BAD_SOURCE", "source"), ("BAD_DESTINATION", "destination")):
                with m.Case(self._step(field, 1)):
                    m.d.sync += fails[name].eq(fails[name] | beyond)
            with m.Case(self._step("capacity", 1)):
                if offload:
                    # The capacity of pages says nothing of their addresses.
                    ends = beyond & ~request.listed if self._config.page_lists else beyond
                    m.d.sync += [fails.BAD_DESTINATION.eq(fails.BAD_DESTINATION | ends),
                                 fails.DESTINATION_TOO_SMALL.eq(0)]
                else:
                    m.d.sync += fails.DESTINATION_TOO_SMALL.eq(total[32])
        return total

    def _windows(self, m: Module, word: Signal, total: Signal, steps: dict[str, Signal], works: dict[str, Signal],
                 request: data.View, fails: data.View) -> None:
        """Compares addresses with the windows, half by half, in two cycles each.

        ::

            lower half   there: base, parts    joined
            upper half              there: base, parts    joined with the lower one: known at "adds" of this word

        Ends are compared in the same way with the limits when their sums are there, at "added", so the result is known
        at "compared". An end may equal the limit.
        """
        offload = self._operation is Operation.OFFLOAD
        low, high = 32 - WINDOW_BITS, self._config.address_bits - 32
        device, link = self.windows.device, self.windows.link
        source, destination = (device, link) if offload else (link, device)
        of_source = {stage: Signal(name=f"source_{stage}") for stage in ("there", "adds", "added")}
        base, limit, unlimited = Signal(low + high), Signal(low + high), Signal()
        first = self._step("source")
        m.d.comb += [
            base.eq(Mux(of_source["there"], source.base, destination.base)),
            limit.eq(Mux(of_source["added"], source.limit, destination.limit)),
        ]
        m.d.sync += [
            of_source["there"].eq((steps["comes"] == first) | (steps["comes"] == first + 1)),
            of_source["adds"].eq(of_source["there"]), of_source["added"].eq(of_source["adds"]),
            unlimited.eq(Mux(of_source["added"], source.unlimited, destination.unlimited)),
        ]
        ragged = Signal(reset_less=True)        # the end is inside a page
        m.d.sync += ragged.eq(total[:WINDOW_BITS].any())
        before = self._compared(m, "base", (base[:low], base[low:]), (word[WINDOW_BITS:], word[:high]))
        after = self._compared(m, "limit", (total[WINDOW_BITS:32], total[:high + 1]),
                               (limit[:low], Cat(limit[low:], Const(0, 1))), ragged) & ~unlimited
        # The end of a page list comes with its address, the end of an offload's destination with the capacity.
        destination_ends = {"destination": Const(1)}
        if offload:
            listed = request.listed if self._config.page_lists else Const(0)
            destination_ends = {"destination": listed, "capacity": ~listed}
        with m.If(works["adds"]), m.Switch(steps["adds"]):
            for field, fail in (("source", "SOURCE_OUTSIDE_WINDOW"), ("destination", "DESTINATION_OUTSIDE_WINDOW")):
                with m.Case(self._step(field, 1)):
                    m.d.sync += fails[fail].eq(before)
        with m.If(works["compared"]), m.Switch(steps["compared"]):
            with m.Case(self._step("source", 1)):
                m.d.sync += fails.SOURCE_OUTSIDE_WINDOW.eq(fails.SOURCE_OUTSIDE_WINDOW | after)
            for field, counts in destination_ends.items():
                with m.Case(self._step(field, 1)):
                    m.d.sync += fails.DESTINATION_OUTSIDE_WINDOW.eq(
                        fails.DESTINATION_OUTSIDE_WINDOW | (after & counts))

    def _compared(self, m: Module, name: str, left: tuple[Value, Value], right: tuple[Value, Value],
                  tie: Value | int = 0) -> Value:
        """Whether the left number is greater, or equal with ``tie``: its lower half comes a cycle before its upper one,
        and the answer a cycle after that. ``tie`` is valid a cycle after the lower half."""
        lower, upper = (part_carries(a, ~b) for a, b in zip(left, right))
        parts = [Signal(len(part), name=f"{name}_{half}", reset_less=True)
                 for half, part in (("low", lower), ("high", upper))]
        joined = Signal(name=f"{name}_joined", reset_less=True)
        m.d.sync += [parts[0].eq(lower), parts[1].eq(upper), joined.eq(joined_carry(parts[0], tie))]
        return joined_carry(parts[1], joined)

    def _head(self, m: Module, word: Signal, request: data.View, fails: data.View, operation: Signal,
              interrupt: Signal) -> None:
        """The first word: operation, coding and flags."""
        config = self._config
        offload = self._operation is Operation.OFFLOAD
        coding = word[8:16]
        flags = data.View(flags_layout(), word[16:])
        if offload:
            misplaced = flags.check_crc | (flags.leave_raw & flags.no_fallback)
        else:
            misplaced = flags.no_fallback | flags.leave_raw | (0 if config.crc else flags.check_crc)
        if not config.page_lists:
            misplaced |= flags.page_list
        narrows = flags.narrow != Narrowing.NONE
        if config.narrowing:
            # To bfloat16 with either coding of 16-bit values, to float16 with zero-value coding.
            form = Value.cast(flags.narrow)
            misplaced |= narrows & ~(
                ((coding == TAGS_FIRST[NARROWED_BYTES]) & (form <= max(each.value for each in Narrowing)))
                | ((coding == EXPONENTS[NARROWED_BYTES]) & (form == Narrowing.BFLOAT16.value)))
            m.d.sync += request.narrow.eq(flags.narrow)
        else:
            misplaced |= narrows
            # Registers start without a value.
            m.d.sync += request.narrow.eq(Narrowing.NONE)
        m.d.sync += [
            operation.eq(word[:8]),
            interrupt.eq(flags.interrupt),
            *([request.listed.eq(flags.page_list)] if config.page_lists else []),
            request.element.eq(coding[:3]),
            request.exponents.eq(coding[5] if config.exponents else 0),
            request.fallback.eq(~flags.no_fallback),
            request.leave_raw.eq(flags.leave_raw),
            request.check_crc.eq(flags.check_crc),
            fails.BAD_OPERATION.eq(word[:8] != self._operation.value),
            fails.CODING_NOT_BUILT.eq(~Cat(coding == number for number in config.numbers).any()),
            fails.BAD_FLAGS.eq(flags.undefined.any() | misplaced),
        ]

    def _page_list(self, m: Module, word: Signal, zero: Signal, request: data.View, fails: data.View) -> None:
        """The number of entries of the page list, and the page size."""
        size = word[:_PAGE_SIZE_BITS]
        known = (size >= SMALLEST_PAGE) & (size <= LARGEST_PAGE)
        reserved = word[_PAGE_SIZE_BITS:].any()
        listed = request.listed if self._config.page_lists else Const(0)
        with m.Case(self._step("pages")):
            m.d.sync += [
                fails.BAD_PAGE_LIST.eq(listed & (zero | word[PAGES_BITS:].any())),
                fails.BAD_RESERVED.eq(~listed & ~zero),
            ]
            if self._config.page_lists:
                m.d.sync += request.pages.eq(word)
        with m.Case(self._step("page_size")):
            m.d.sync += [
                fails.BAD_PAGE_LIST.eq(fails.BAD_PAGE_LIST | (listed & ~known)),
                fails.BAD_RESERVED.eq(fails.BAD_RESERVED | Mux(listed, reserved, ~zero)),
            ]
            if self._config.page_lists:
                m.d.sync += request.page_size.eq(size - SMALLEST_PAGE)
