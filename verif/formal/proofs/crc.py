"""Proofs of the CRC-32C of the link: its matrices and its messages against bit-serial division by the polynomial.

A network of exclusive-ors alone is a linear map, so it is known for all data when it is known for every single bit. A
solver that sees whole words at once does not end: the sums of hundreds of bits in two different orders are its worst
case. So the networks are looked at with one bit set, and what they are made of is looked at in the netlist.
"""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Const, Mux, Signal, Value
from amaranth.hdl._ast import Assign, Concat, Operator, Slice
from amaranth.hdl._ir import Fragment

from cdma.hdl.codec.coding import WORD_BYTES
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.link.crc32c import Crc32c
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof

__all__ = ["PROOFS", "of_engine"]

_GENERATOR = 0x1EDC_6F41
_REFLECTED = int(f"{_GENERATOR:032b}"[::-1], 2)
_ONES = 0xFFFF_FFFF
_WORD = 8 * WORD_BYTES


def _divided(remainder: int, bits: Iterable[int]) -> int:
    """The definition: the remainder after some bits of a message, which are sent with the lowest of a byte first."""
    for bit in bits:
        remainder = (remainder >> 1) ^ (_REFLECTED if (remainder ^ bit) & 1 else 0)
    return remainder


def _undone(remainder: int, zeros: int) -> int:
    """The remainder from which so many zero bits lead to this one."""
    for _ in range(zeros):
        odd = remainder >> 31
        remainder = ((remainder ^ (_REFLECTED if odd else 0)) << 1) | odd
    return remainder


def _columns(words: int) -> dict[str, list[int]]:
    """The matrices, by the definition: for a beat, from a beat to the next one, and from a word to the next one."""
    length = _WORD * words
    sums = []
    for bit in range(length):
        remainder = _divided(0, (int(index == bit) for index in range(length)))
        # After a beat the state is not yet multiplied by x^(32 words).
        sums.append(_undone(remainder, length))
        if _divided(sums[-1], (0 for _ in range(length))) != remainder:
            raise ValueError("a step of the division must have an inverse")
    return {"sum": sums, "step": [_divided(1 << bit, (0 for _ in range(length))) for bit in range(_WORD)],
            "finish": [_divided(1 << bit, (0 for _ in range(_WORD))) for bit in range(_WORD)]}


def _only_adds(fragment: Fragment) -> None:
    """Check that a netlist has no operators but exclusive-ors.

    Raises
    ------
    ValueError
        If it has another one.
    """
    if fragment.subfragments or set(fragment.statements) != {"comb"}:
        raise ValueError("a linear network must have no parts and no registers")
    for statement in fragment.statements["comb"]:
        if not isinstance(statement, Assign):
            raise ValueError(f"a linear network must have plain assignments alone, not {statement!r}")
        found: list[Value] = [statement.rhs]
        while found:
            value = found.pop()
            if isinstance(value, Operator) and value.operator == "^":
                found += value.operands
            elif isinstance(value, Concat):
                found += value.parts
            elif isinstance(value, Slice):
                found.append(value.value)
            elif not isinstance(value, Signal) and not (isinstance(value, Const) and value.value == 0):
                raise ValueError(f"a linear network must add bits alone, not have {value!r}")


def _matrices(h: Harness, words: int) -> None:
    """What the CRC-32C unit adds for a beat of {bytes} bytes, and what it multiplies by for a beat and for a word, is
    division by the polynomial 0x1EDC6F41, bit by bit, for every single bit; its networks have exclusive-ors alone, so
    for all data and remainders."""
    m = h.m
    dut = h.add("dut", Crc32c(WORD_BYTES * words))
    length = _WORD * words
    m.d.comb += [dut.i.valid.eq(h.free(1, "valid")), dut.i.payload.words.eq(words), dut.i.payload.last.eq(0)]
    one = h.free(range(length), "one")
    m.d.comb += dut.i.payload.data.eq(Const(1, length) << one)
    columns = _columns(words)
    for name, given in (("sum", Value.cast(dut.i.payload.data)), ("step", h.inner("dut.state")),
                        ("finish", h.inner("dut.closing"))):
        shown = h.inner(f"dut.{name}.o")
        _only_adds(h.part(f"dut.{name}"))
        expected, known = Signal(_WORD, name=f"{name}_expected"), Signal(name=f"{name}_known")
        with m.Switch(given):
            for bit in range(len(given)):
                with m.Case(1 << bit):
                    m.d.comb += [expected.eq(columns[name][bit]), known.eq(1)]
        h.check(f"column_of_{name}", ~known | (shown == expected))
        h.check(f"{name}_of_nothing", (given != 0) | (shown == 0))
        h.cover(f"{name}_is_known", known)


def _messages(h: Harness, words: int) -> None:
    """For messages of any length in beats of {bytes} bytes, the last with any number of words, each beat is added to
    the product of what was before and the matrix of a beat, the end is multiplied once for each word of the last beat,
    and the value comes in the time stated, while the next message may begin."""
    m = h.m
    dut = h.add("dut", Crc32c(WORD_BYTES * words))
    beat = dut.i.payload
    given = h.free(1, "valid")
    m.d.comb += [dut.i.valid.eq(given), beat.words.eq(h.free(range(words + 1), "words")),
                 beat.last.eq(h.free(1, "last")), beat.data.eq(h.free(_WORD * words, "data"))]
    h.assume("words", ~given | ((beat.words >= 1) & (beat.words <= words)))
    h.assume("waits_for_the_last", ~given | ~beat.last | ~dut.busy)
    # The beat before; the message up to there; and what is left of its end, multiplied once for each word.
    came, last, number = Signal(name="came"), Signal(name="was_last"), Signal.like(beat.words, name="number")
    added, so_far, product = (Signal(_WORD, name=name) for name in ("added", "so_far", "product"))
    inside, left, following = Signal(name="inside"), Signal.like(beat.words, name="left"), Signal(_WORD, name="sum")
    sums, steps, finish = (h.inner(f"dut.{name}.o") for name in ("sum", "step", "finish"))
    m.d.comb += following.eq(Mux(inside, steps, _ONES) ^ added)
    m.d.sync += came.eq(given)
    with m.If(given):
        m.d.sync += [added.eq(sums), last.eq(beat.last), number.eq(beat.words)]
    with m.If(came):
        m.d.sync += [so_far.eq(following), inside.eq(~last)]
    with m.If(came & last):
        m.d.sync += [product.eq(following), left.eq(number)]
    with m.Elif(left != 0):
        m.d.sync += [product.eq(finish), left.eq(left - 1)]
    ends = h.past((left == 1) & ~(came & last), "ends")
    since = Signal(range(words + 4), name="since_last")
    length = Signal.like(beat.words, name="words_of_last")
    m.d.sync += since.eq(Mux(given & beat.last, 1, Mux((since == 0) | (since == length + 2), 0, since + 1)))
    with m.If(given & beat.last):
        m.d.sync += length.eq(beat.words)
    h.check("value", ~dut.done | (dut.value == ~product))
    h.check("done_at_the_end", dut.done == ends)
    h.check("done_in_time", dut.done == ((since != 0) & (since == length + 2)))
    h.check("busy_until_done", dut.busy == ((since != 0) & (since < length + 2)))
    # What the registers hold of it.
    held = {name: h.inner(f"dut.{name}") for name in (
        "arrived", "addend", "ends", "count", "fresh", "state", "closing", "finishing", "left")}
    h.check("beat_is_held", (held["arrived"] == came) & (~came | (
        (held["addend"] == added) & (held["ends"] == last) & (held["count"] == number))))
    h.check("message_is_held", (held["fresh"] == ~inside) & (~inside | (held["state"] == so_far)))
    h.check("end_is_held", ((left == 0) & ~dut.done) | (held["closing"] == product))
    h.check("words_are_held", (held["finishing"] == (left != 0)) & ((left == 0) | (held["left"] == left)))
    h.check("end_begins", (came & last) == (since == 1))
    h.check("words_of_end", ~(came & last) | (number == length))
    h.check("words_left", (left == 0) == ((since <= 1) | (since == length + 2)))
    h.check("words_left_and_time", (left == 0) | (left + since == length + 2))
    h.check("words_fit", (since == 0) | ((length >= 1) & (length <= words) & (since <= length + 2)))
    h.cover("longest_end", dut.done & (length == words))
    h.cover("next_message_meanwhile", given & dut.busy & inside)


def _proof(name: str, words: int, configured: bool = False) -> Proof:
    build, covers = {"matrices": (_matrices, 6), "messages": (_messages, words + 8)}[name]
    # Of the table's, the narrowest beats run in continuous integration.
    return Proof(f"crc_{name}_{WORD_BYTES * words}", "hdl/engine/link/crc32c.py", build, {"words": words},
                 set="shallow" if configured or words == 4 else "deep", cover_depth=covers, configured=configured,
                 words={"bytes": WORD_BYTES * words})


def of_engine(config: EngineConfig) -> tuple[Proof, ...]:
    """The CRC of an engine, if it has one."""
    return tuple(_proof(name, config.link_words, True) for name in ("matrices", "messages")) if config.crc else ()


PROOFS = tuple(_proof(name, words) for name in ("matrices", "messages") for words in (4, 8, 16))
"""Proofs of the CRC."""
