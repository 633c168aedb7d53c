"""Proofs of the checker: for every descriptor its verdict is that of the rules, which are written down here as the
driver's reader knows them, in plain arithmetic on whole numbers."""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.engine.axi.pages import LARGEST_PAGE, PAGES_BITS, SMALLEST_PAGE
from cdma.hdl.engine.control.checker import Checker
from cdma.hdl.engine.control.descriptor import RECORD_WORDS, Operation, descriptor_layout
from cdma.hdl.engine.control.table import MEMORIES, WINDOW_BITS
from cdma.hdl.engine.transfer.records import LENGTH_BITS, Status
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof

__all__ = ["PROOFS", "of_engine"]

_LATENCY = 19
_NARROWS = ((Narrowing.BFLOAT16, (0x12, 0x22)), (Narrowing.FLOAT16, (0x12,)))
"""Each format that values are narrowed to, and the codings that it goes with."""


def _among(value: Value, numbers: tuple[int, ...]) -> Value:
    return Cat(value == number for number in numbers).any()


def _failures(config: EngineConfig, operation: Operation, descriptor: data.View, windows: data.View | None
              ) -> Iterator[tuple[Status, Value]]:
    """What may be wrong with a descriptor, in the order in which it is reported."""
    offload, flags = operation is Operation.OFFLOAD, descriptor.flags
    coding, raw, packed, pages = descriptor.coding, descriptor.raw_bytes, descriptor.packed_bytes, descriptor.pages
    listed = flags.page_list & config.page_lists
    narrows = flags.narrow != Narrowing.NONE
    narrowing = config.narrowing & Cat((flags.narrow == form) & _among(coding, codings)
                                       for form, codings in _NARROWS).any()
    element = Mux(narrows, 4, coding[:3])
    space = 1 << config.address_bits
    streams = (descriptor.pages << 3) if config.page_lists else Const(0, 1)
    yield Status.BAD_OPERATION, descriptor.operation != operation
    yield Status.CODING_NOT_BUILT, ~_among(coding, config.numbers)
    yield Status.BAD_FLAGS, (
        flags.undefined.any() | (narrows & ~narrowing) | (flags.page_list & (not config.page_lists))
        | ((flags.check_crc | (flags.leave_raw & flags.no_fallback)) if offload else
           (flags.leave_raw | flags.no_fallback | (flags.check_crc & (not config.crc)))))
    yield Status.BAD_RESERVED, descriptor.reserved.any() | (~listed & (pages.any() | descriptor.page_size.any()))
    yield Status.BAD_RAW_BYTES, ((raw == 0) | (raw >= 1 << LENGTH_BITS) | ((element == 2) & raw[0])
                                 | ((element == 4) & raw[:2].any()))
    yield Status.BAD_PACKED_BYTES, packed.any() if offload else (
        (packed == 0) | (packed >= 1 << LENGTH_BITS) | packed[:2].any())
    yield Status.BAD_PAGE_LIST, listed & ((pages == 0) | (pages >= 1 << PAGES_BITS) | (
        descriptor.page_size < SMALLEST_PAGE) | (descriptor.page_size > LARGEST_PAGE))
    # Source and destination: their units, and where they end.
    places = {
        "source": (config.block_bytes if offload else config.link_beat_bytes,
                   descriptor.source + (raw if offload else Mux(listed, streams, packed))),
        "destination": (config.link_beat_bytes if offload else config.block_bytes,
                        descriptor.destination + (Mux(listed, streams, descriptor.capacity) if offload else raw))}
    for field, (unit, end) in places.items():
        yield Status[f"BAD_{field.upper()}"], (
            descriptor[field][:exact_log2(unit)].any() | (descriptor[field] >= space) | (end > space))
    if windows is not None:
        for (field, (_, end)), memory in zip(places.items(), MEMORIES if offload else reversed(MEMORIES), strict=True):
            window = windows[memory]
            yield Status[f"{field.upper()}_OUTSIDE_WINDOW"], (
                (descriptor[field] < window.base << WINDOW_BITS)
                | (~window.unlimited & (end > window.limit << WINDOW_BITS)))
    if not offload:
        yield Status.DESTINATION_TOO_SMALL, raw > descriptor.capacity


def _checker(h: Harness, config: EngineConfig, operation: Operation) -> None:
    """Of every descriptor of {what}, the verdict is the first rule of docs/programming.md that it breaks; one that
    passes is the transfer that it says."""
    dut = h.add("dut", Checker(config, operation))
    descriptor = data.View(descriptor_layout(), h.fixed(32 * RECORD_WORDS, "descriptor"))
    h.m.d.comb += dut.data.eq(h.past(Value.cast(descriptor).word_select(dut.word, 32), "word"))
    windows = None
    if config.address_windows:
        windows = h.fixed(dut.windows.shape(), "windows")
        h.m.d.comb += dut.windows.eq(windows)
    since = Signal(range(_LATENCY + 2), name="since")
    h.m.d.sync += since.eq(Mux(since == _LATENCY + 1, since, since + 1))
    h.m.d.comb += dut.start.eq(h.begun & (since == 0))
    first: Value = Const(Status.OK.value, 8)
    found = [(status, h.named(status.name.lower(), fails))
             for status, fails in _failures(config, operation, descriptor, windows)]
    for status, fails in reversed(found):
        first = Mux(fails, status.value, first)
    first = h.named("first", first)
    verdict = Value.cast(dut.status)
    for status in (Status.OK, *(status for status, _ in found)):
        h.check(f"verdict_{status.name.lower()}", ~dut.done | ((verdict == status.value) == (first == status.value)))
        if status is not Status.BAD_PAGE_LIST or config.page_lists:
            h.cover(status.name.lower(), dut.done & (verdict == status.value))
    passes, request = h.named("passes", dut.done & (first == Status.OK.value)), dut.request
    flags = descriptor.flags
    same = {"source": request.source == descriptor.source, "destination": request.destination == descriptor.destination,
            "raw_bytes": request.raw_bytes == descriptor.raw_bytes,
            "packed_bytes": request.packed_bytes == descriptor.packed_bytes,
            "capacity": request.capacity == Mux(descriptor.capacity >= 1 << LENGTH_BITS, (1 << LENGTH_BITS) - 1,
                                                descriptor.capacity),
            "narrow": request.narrow == flags.narrow, "fallback": request.fallback != flags.no_fallback,
            "leave_raw": request.leave_raw == flags.leave_raw, "check_crc": request.check_crc == flags.check_crc}
    if config.page_lists:
        same |= {"listed": request.listed == flags.page_list,
                 "pages": ~flags.page_list | (request.pages == descriptor.pages),
                 "page_size": ~flags.page_list | (request.page_size == descriptor.page_size - SMALLEST_PAGE)}
    for name, holds in same.items():
        h.check(f"transfer_has_its_{name}", ~passes | holds)


def _proof(name: str, config: EngineConfig, operation: Operation, what: str = "", configured: bool = False) -> Proof:
    parameters = {"config": config, "operation": operation}
    return Proof(f"verdict_{name}", "hdl/engine/control/checker.py", _checker, parameters, _LATENCY + 2,
                 coverage="one descriptor", solver="sat", configured=configured,
                 words={"what": f"{'an' if operation is Operation.OFFLOAD else 'a'} {operation.name.lower()}{what}"})


def of_engine(config: EngineConfig) -> tuple[Proof, ...]:
    """The checkers of both directions."""
    return tuple(_proof(operation.name.lower(), config, operation, configured=True) for operation in Operation)


_FULL = load_engine("engine").replace(address_windows=True, page_lists=True, narrowing=True)
_BUILT = ", with windows, page lists and narrowing built"

PROOFS = (*(_proof(operation.name.lower(), _FULL, operation, _BUILT) for operation in Operation),
          _proof("tiny", load_engine("tiny"), Operation.OFFLOAD, ", with none of these built"))
"""Proofs of the checker's verdict."""
