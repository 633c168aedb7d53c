"""Proofs of the register bus, of arbiters and of ring pointers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Mux, Signal, Value

from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.engine.axi.arbiter import AxiReadArbiter, AxiWriteArbiter
from cdma.hdl.engine.axi.lite import AxiLite
from cdma.hdl.engine.control.ring import Ring
from cdma.hdl.engine.control.table import ADDRESS_BITS
from cdma.verif.formal.bus_rules import lite_rules
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import choose

__all__ = ["PROOFS", "of_engine", "ring_writes"]


def _stream(interface: Any, channel: str, fields: tuple[str, ...]) -> SimpleNamespace:
    """A channel as a stream."""
    return SimpleNamespace(valid=getattr(interface, f"{channel}valid"), ready=getattr(interface, f"{channel}ready"),
                           payload=Cat(Value.cast(getattr(interface, f"{channel}{each}")) for each in fields))


def _free_channel(h: Harness, interface: Any, channel: str, fields: tuple[str, ...], name: str = "") -> None:
    """Drives a channel freely, as the interface allows."""
    choose(h, interface, [f"{channel}{each}" for each in ("valid", *fields)], name.removesuffix(channel) + "{}")
    h.promise(_stream(interface, channel, fields), name or channel, h.assume)


def _lite(h: Harness, address_bits: int) -> None:
    """The register bus answers each request once, with the result of one access to the address and data that were sent,
    and keeps every rule of AXI4-Lite for subordinates."""
    m = h.m
    dut = h.add("dut", AxiLite(address_bits))
    bus, port = dut.bus, dut.port
    for channel, fields in (("aw", ("addr",)), ("w", ("data", "strb")), ("ar", ("addr",))):
        _free_channel(h, bus, channel, fields)
    for channel, fields in (("b", ("resp",)), ("r", ("resp", "data"))):
        choose(h, bus, (f"{channel}ready",))
        h.promise(_stream(bus, channel, fields), channel, h.check)
    ack, error, read_data = choose(h, port, ("ack", "error", "read_data"))
    # The registers answer an access once, in the next cycle or later.
    open_ = Signal(name="access_open")
    accesses = port.write | port.read
    m.d.sync += open_.eq(accesses | (open_ & ~ack))
    h.assume("answers_accesses_only", ~ack | open_)

    # Requests that were taken and not answered, by channel.
    counts = {channel: Signal(2, name=f"open_{channel}") for channel in ("aw", "w", "ar")}
    moves = {channel: getattr(bus, f"{channel}valid") & getattr(bus, f"{channel}ready")
             for channel in ("aw", "w", "ar", "b", "r")}
    for channel, count in counts.items():
        m.d.sync += count.eq(count + moves[channel] - moves["r" if channel == "ar" else "b"])
    h.check("response_needs_address", ~bus.bvalid | (counts["aw"] != 0))
    h.check("response_needs_data", ~bus.bvalid | (counts["w"] != 0))
    h.check("data_need_address", ~bus.rvalid | (counts["ar"] != 0))
    h.check("responses_are_okay_or_error", ~bus.bresp[0] & ~bus.rresp[0])

    # What was taken last on each channel is what the access has.
    last = {}
    for channel, fields in (("aw", ("addr",)), ("w", ("data", "strb")), ("ar", ("addr",))):
        payload = Cat(Value.cast(getattr(bus, f"{channel}{each}")) for each in fields)
        last[channel] = Signal(len(payload), name=f"last_{channel}", reset_less=True)
        with m.If(moves[channel]):
            m.d.sync += last[channel].eq(payload)
    h.check("one_access_at_a_time", ~accesses | (~open_ & ~(port.write & port.read)))
    h.check("write_address", ~port.write | (port.address == last["aw"][2:]))
    h.check("write_data", ~port.write | (Cat(port.write_data, port.write_strobe) == last["w"]))
    h.check("read_address", ~port.read | (port.address == last["ar"][2:]))
    writes = Signal(name="was_write")
    with m.If(accesses):
        m.d.sync += writes.eq(port.write)
    answered = open_ & ack
    result, was_answered, kind = Signal(33, name="result"), Signal(name="was_answered"), Signal(name="kind")
    m.d.sync += [was_answered.eq(answered), result.eq(Cat(error, read_data)), kind.eq(writes)]
    h.check("write_is_answered", ~was_answered | ~kind | (bus.bvalid & (bus.bresp == Mux(result[0], 2, 0))))
    h.check("read_is_answered", ~was_answered | kind | (bus.rvalid & (bus.rresp == Mux(result[0], 2, 0))
                                                        & (bus.rdata == result[1:])))
    h.check("address_stays", ~open_ | (port.address == h.past(port.address, "address")))
    data = Cat(port.write_data, port.write_strobe)
    h.check("data_stay", ~(open_ & writes) | (data == h.past(data, "data")))

    # The registers behind the ports. States: 0 waits, 1 begins an access, 2 waits for its answer.
    state, is_write = h.inner("dut.fsm_state"), h.inner("dut.writes")
    full = {channel: h.inner(f"dut.{channel}_full") for channel in counts}
    held = {channel: h.inner(f"dut.{channel}_held") for channel in counts}
    h.check("states", (state < 3) & ((state == 2) == open_) & ((state == 1) == accesses))
    for channel, count in counts.items():
        valid = bus.rvalid if channel == "ar" else bus.bvalid
        h.check(f"{channel}_open_is_place_and_response", count == full[channel] + valid)
    for channel, value in (("aw", last["aw"][2:]), ("w", last["w"]), ("ar", last["ar"][2:])):
        h.check(f"{channel}_held_is_last", ~full[channel] | (held[channel] == value))
    h.check("access_has_request", (state == 0) | Mux(is_write, full["aw"] & full["w"] & ~bus.bvalid,
                                                     full["ar"] & ~bus.rvalid))
    h.check("access_has_address", (state != 1) | (port.address == Mux(is_write, held["aw"], held["ar"])))
    h.check("kind_is_kept", (state != 2) | (is_write == writes))
    _lite_rules(h, bus, counts)
    h.cover("error_response", bus.bvalid & (bus.bresp == 2))
    h.cover("second_read", moves["r"] & (counts["ar"] == 2))


def _lite_rules(h: Harness, bus: Any, counts: dict[str, Signal]) -> None:
    """The rules of AXI4-Lite at the port, and what they remember."""
    rules = lite_rules(h, bus, outstanding=2)
    choose(h, bus, ("awprot", "arprot"))
    h.check("rules_count", (rules.addresses == counts["aw"]) & (rules.words == counts["w"])
            & (rules.reads == counts["ar"]))
    h.check("silent_after_reset", ~rules.was_reset | ~(bus.bvalid | bus.rvalid))
    h.check("write_response_waits", ~rules.b_waited | (bus.bvalid & (rules.b_was == bus.bresp)))
    h.check("data_wait", ~rules.r_waited | (bus.rvalid & (rules.r_was == Cat(bus.rresp, bus.rdata))))


_REQUEST = ("addr", "len", "size", "burst")


def _arbiter(h: Harness, inputs: int, write: bool, address_bits: int = 16, beat_bytes: int = 4,
             outstanding: int = 4) -> None:
    """Of {inputs} masters one is granted at a time; its request comes to the port unchanged and stays; a master that
    asks waits for {others} at most."""
    m = h.m
    channel = "aw" if write else "ar"
    dut = h.add("dut", (AxiWriteArbiter if write else AxiReadArbiter)(
        address_bits, beat_bytes, inputs, outstanding))
    port = dut.o
    for number in range(inputs):
        _free_channel(h, dut.i[number], channel, _REQUEST, f"i{number}_{channel}")
        choose(h, dut.i[number], ("wvalid", "wlast", "bready") if write else ("rready",), f"i{number}_{{}}")
    choose(h, port, (f"{channel}ready", "wready", "bvalid") if write else (f"{channel}ready", "rvalid"), "o_{}")
    h.promise(_stream(port, channel, _REQUEST), channel, h.check)

    readies = Cat(getattr(dut.i[number], f"{channel}ready") for number in range(inputs))
    valids = Cat(getattr(dut.i[number], f"{channel}valid") for number in range(inputs))
    grant = Signal(inputs, name="grant")
    m.d.comb += grant.eq(readies & valids)
    h.check("one_grant", (grant & (grant - 1)[:inputs]) == 0)
    h.check("grant_to_who_asks", (readies & ~valids) == 0)
    granted, which = Signal(name="granted"), Signal(inputs, name="granted_to")
    m.d.sync += [granted.eq(grant.any()), which.eq(grant)]
    for number in range(inputs):
        fields = Cat(Value.cast(getattr(dut.i[number], f"{channel}{each}")) for each in _REQUEST)
        was = h.past(fields, f"request_{number}")
        at_port = Cat(Value.cast(getattr(port, f"{channel}{each}")) for each in _REQUEST)
        h.check(f"request_of_{number}_passes", ~(granted & which[number]) | (
            getattr(port, f"{channel}valid") & (at_port == was)))

    # Fairness: grants to others since a master asks, one that the solver chooses.
    watched = h.fixed(range(inputs), "watched")
    h.assume("watched_is_there", watched < inputs)
    waits = Signal(range(2 * inputs + 1), name="waits")
    asks, gets = valids.bit_select(watched, 1), grant.bit_select(watched, 1)
    with m.If(~asks | gets):
        m.d.sync += waits.eq(0)
    with m.Elif(grant.any()):
        m.d.sync += waits.eq(waits + 1)
    h.check("others_go_first_once", waits < inputs)
    latest = h.inner("dut.latest")
    before = Signal(range(2 * inputs), name="masters_before")
    m.d.comb += before.eq(Mux(watched > latest, watched - latest - 1, watched + inputs - latest - 1))
    h.check("latest_is_there", latest < inputs)
    h.check("wait_and_place", (waits == 0) | (waits + before < inputs))
    h.cover("waits_longest", waits == inputs - 1)


def ring_writes(h: Harness, dut: Ring, pipeline: str) -> tuple[dict[str, Signal], Signal]:
    """Writes to the registers of a ring, one in every third cycle at most, and a window if it has one; returns the
    writes by register, and whether there was one in each of the two cycles before. In the pipeline ``fast`` the bank
    holds the data from the cycle before on."""
    names = list(dut.write.shape().members)
    writes = dict(zip(names, choose(h, dut.write, names, "write_{}"), strict=True))
    if "window" in dut.signature.members:
        choose(h, dut, ("window",))
    any_write = Cat(writes.values())
    recent = Signal(2, name="recent_writes")
    h.m.d.sync += recent.eq(Cat(any_write.any(), recent[0]))
    h.assume("one_register", (any_write & (any_write - 1)[:len(any_write)]) == 0)
    h.assume("every_third_cycle", ~any_write.any() | ~recent.any())
    if pipeline == "fast":
        h.assume("data_are_held", ~any_write.any() | (dut.data == h.past(dut.data, "data")))
    return writes, recent


def _ring(h: Harness, config: EngineConfig) -> None:
    """Head and tail of a ring stay inside it, the head never passes the tail, each entry is taken once, and a refused
    write changes nothing, while the driver moves the tail forward and several entries are open."""
    m = h.m
    dut = h.add("dut", Ring(config))
    values = dut.values
    writes, recent = ring_writes(h, dut, config.pipeline)
    any_write = Cat(writes.values())
    data, advance, fail = choose(h, dut, ("data", "advance", "fail"))
    begin, forget = h.free(1, "begin"), h.free(1, "forget")
    count = Signal(len(values.head) + 1, name="open_entries")
    m.d.comb += dut.open.eq(count != 0)
    m.d.sync += count.eq(Mux(fail | forget, 0, count + begin - advance))
    h.assume("ends_what_is_open", ~(advance | fail) | dut.open)
    h.assume("one_end", ~(advance & fail))

    mask, size = h.inner("dut.mask"), values.size
    bits = len(mask)
    level, target = Signal(bits, name="level"), Signal(bits, name="new_level")
    m.d.comb += [level.eq((values.tail - values.head) & mask), target.eq((data - values.head) & mask)]
    h.assume("begins_what_is_there", ~begin | (dut.pending & (count < level) & ~recent.any() & ~any_write.any()))
    h.assume("tail_moves_forward", ~writes["tail"] | dut.refuse | (target >= level))
    h.check("size_is_a_power_of_two", (size != 0) & ((size & (size - 1)[:len(size)]) == 0))
    h.check("mask_is_size_less_one", recent.any() | (mask == (size - 1)[:bits]))
    h.check("mask_follows_size", recent[0] | (mask == (size - 1)[:bits]))
    h.check("pointers_inside", ((values.head & ~mask) == 0) & ((values.tail & ~mask) == 0) | recent[0])
    h.check("pointers_inside_size", (values.head < size) & (values.tail < size))
    h.check("reads_what_is_there", recent[0] | (count <= level))
    h.check("busy_while_open", ~dut.open | values.enable)
    was_level, moved = h.past(level, "level"), h.past(advance, "advance")
    wrote = h.past(writes["tail"] | writes["size"], "wrote")
    settled = ~recent.any()
    h.check("advance_takes_one", ~moved | wrote | ~settled | (level == (was_level - 1)[:bits]))
    h.check("level_stays", moved | wrote | ~settled | (level == was_level))
    h.check("never_passes_tail", ~moved | wrote | ~settled | (was_level != 0))
    kept = Value.cast(values)[:-1]
    refused, ended = h.past(dut.refuse & any_write.any(), "refused"), h.past(advance | fail, "ended")
    h.check("refused_changes_nothing", ~refused | ended | (kept == h.past(kept, "values")))
    h.cover("wraps", h.past(values.head, "head") > values.head)
    h.cover("several_entries", level == 5)


def _arbiter_proof(kind: str, inputs: int, **configured: int) -> Proof:
    return Proof(f"{kind}_arbiter" if configured else f"{kind}_arbiter_{inputs}", "hdl/engine/axi/arbiter.py", _arbiter,
                 {"inputs": inputs, "write": kind == "write", **configured}, configured=bool(configured),
                 words={"others": "1 other" if inputs == 2 else f"{inputs - 1} others"})


def _ring_proof(config: EngineConfig, name: str = "ring", **how: Any) -> Proof:
    return Proof(name, "hdl/engine/control/ring.py", _ring, {"config": config}, 2, cover_depth=30, **how)


_LITE = Proof("axi_lite", "hdl/engine/axi/lite.py", _lite, {"address_bits": ADDRESS_BITS}, cover_depth=16)


def of_engine(config: EngineConfig) -> tuple[Proof, ...]:
    """The register bus, the arbiters at an engine's link, and its rings."""
    sizes = {"address_bits": config.address_bits, "beat_bytes": config.link_beat_bytes}
    arbiters = [_arbiter_proof("read", 4 if config.page_lists else 2, **sizes, outstanding=config.link_reads)]
    if config.write_back:
        arbiters.append(_arbiter_proof("write", 2, **sizes, outstanding=config.outstanding_link_writes))
    return _LITE, *arbiters, _ring_proof(config, configured=True)


PROOFS = (
    _LITE, *(_arbiter_proof(kind, inputs) for kind in ("read", "write") for inputs in (2, 3, 5)),
    _ring_proof(load_engine("tiny")),
    _ring_proof(load_engine("lean"), "ring_fast",
                said="The same in the pipeline fast, which checks data a cycle earlier."),
)
"""Proofs of buses and rings."""
