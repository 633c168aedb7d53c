"""Vectors with a lane for each element of a group, for compiled loops: what Numba does not find in loops over so few
elements. LLVM translates them for any processor. Needs Numba.

The functions are called by compiled functions only. Buffers are given by their :func:`address`, places in bytes;
``zero`` is the number 0 of the elements' type. Numba's cache on disk does not notice a change of this module: touch the
module that calls it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from golden.kernels.exponent_fields import GROUPS, MANTISSA

__all__ = ["address", "bytes_of", "expand_group", "line_facts", "load", "pack_group", "store"]

_BYTES = types.CPointer(types.uint8)
_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_OCTET = ir.VectorType(_BYTE, 8)
_WORDS = ir.VectorType(_WORD, 8)


def _inserted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns the types and the builder of the code for its calls in compiled functions."""
    return intrinsic(function)


class _Lanes:
    """The lanes of a group of numbers of a type."""

    def __init__(self, builder: Any, number: Any) -> None:
        self.builder = builder
        self.bits = number.bitwidth
        self.count = 1024 // GROUPS // self.bits
        self.number = ir.IntType(self.bits)
        self.type = ir.VectorType(self.number, self.count)
        self.bytes = ir.VectorType(_BYTE, self.count)
        self.mantissa = MANTISSA[self.bits // 8]

    def all(self, value: int) -> ir.Constant:
        """The same constant in every lane."""
        return ir.Constant(self.type, [value] * self.count)

    def splat(self, value: Any) -> Any:
        """The same number in every lane."""
        return _splat(self.builder, value, self.type)

    def load(self, buffer: Any, at: Any) -> Any:
        return _load(self.builder, buffer, at, self.type)

    def reduce(self, name: str, lanes: Any) -> Any:
        """All lanes in one number, by a reduction of LLVM."""
        return _reduce(self.builder, name, lanes)

    def flags(self, lanes: Any) -> Any:
        """A number with a bit for each lane of 1 bit."""
        return self.builder.bitcast(lanes, ir.IntType(self.count))


def _splat(builder: Any, value: Any, kind: ir.VectorType) -> Any:
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), order)


def _reduce(builder: Any, name: str, lanes: Any) -> Any:
    kind = lanes.type
    full_name = f"llvm.vector.reduce.{name}.v{kind.count}i{kind.element.width}"
    function = ir.FunctionType(kind.element, [kind])
    return builder.call(cgutils.get_or_insert_function(builder.module, function, full_name), [lanes])


def _place(builder: Any, buffer: Any, at: Any, kind: Any) -> Any:
    return builder.bitcast(builder.gep(buffer, [at]), kind.as_pointer())


def _load(builder: Any, buffer: Any, at: Any, kind: Any) -> Any:
    found = builder.load(_place(builder, buffer, at, kind))
    found.align = 1
    return found


def _store(builder: Any, value: Any, buffer: Any, at: Any) -> None:
    builder.store(value, _place(builder, buffer, at, value.type)).align = 1


def _byte(builder: Any, word: Any, number: int) -> Any:
    return builder.and_(builder.lshr(word, _WORD(8 * number)), _WORD(0xFF))


def _places(builder: Any, base: Any, offsets: Sequence[Any], count: int) -> list[Any]:
    """A place for each lane, from bytes of words."""
    return [builder.add(base, _byte(builder, offsets[lane // 8], lane % 8)) for lane in range(count)]


@_inserted
def address(typing: Any, array: Any) -> Any:
    """The address of an array's first byte."""
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.bitcast(found.data, _BYTE.as_pointer())

    return _BYTES(array), code


@_inserted
def bytes_of(typing: Any, zero: Any) -> Any:
    """The bytes of a number, as a constant."""
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _WORD(zero.bitwidth // 8)

    return types.uint64(zero), code


@_inserted
def load(typing: Any, buffer: Any, at: Any, zero: Any) -> Any:
    """A number at any byte, of the type of ``zero``."""
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _load(builder, arguments[0], arguments[1], context.get_value_type(zero))

    return zero(_BYTES, types.uint64, zero), code


@_inserted
def store(typing: Any, value: Any, buffer: Any, at: Any) -> Any:
    """Write a number to any byte."""
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _store(builder, *arguments)
        return context.get_dummy_value()

    return types.void(value, _BYTES, types.uint64), code


@_inserted
def line_facts(typing: Any, buffer: Any, at: Any, zero: Any) -> Any:
    """Of the elements of a line: the tag; the largest exponent; whether an element is negative; whether one that is not
    zero has exponent 0; and, in 16 bits for each group, 1 less than its smallest exponent that is not 0, or 255."""
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = _Lanes(builder, zero)
        short = ir.VectorType(ir.IntType(16), lanes.count)
        tag = smallest = _WORD(0)
        largest = any_bits = special = lanes.all(0)
        for group in range(GROUPS):
            place = builder.add(arguments[1], _WORD(group * lanes.count * lanes.bits // 8))
            values = lanes.load(arguments[0], place)
            exponents = builder.and_(builder.lshr(values, lanes.all(lanes.mantissa)), lanes.all(0xFF))
            largest = builder.select(builder.icmp_unsigned(">", exponents, largest), exponents, largest)
            any_bits = builder.or_(any_bits, values)
            subnormal = builder.icmp_unsigned("==", exponents, lanes.all(0))
            special = builder.or_(special, builder.select(subnormal, values, lanes.all(0)))
            below = builder.and_(builder.sub(exponents, lanes.all(1)), lanes.all(0xFF))
            if lanes.bits > 16:
                below = builder.trunc(below, short)
            least = builder.zext(lanes.reduce("umin", below), _WORD)
            smallest = builder.or_(smallest, builder.shl(least, _WORD(16 * group)))
            found = builder.zext(lanes.flags(builder.icmp_unsigned("!=", values, lanes.all(0))), _WORD)
            tag = builder.or_(tag, builder.shl(found, _WORD(group * lanes.count)))
        sign = builder.lshr(lanes.reduce("or", any_bits), lanes.number(lanes.bits - 1))
        some = builder.icmp_unsigned("!=", lanes.reduce("or", special), lanes.number(0))
        results = [tag, *(builder.zext(one, _WORD) for one in (lanes.reduce("umax", largest), sign, some)), smallest]
        return context.make_tuple(builder, signature.return_type, results)

    return types.UniTuple(types.uint64, 5)(_BYTES, types.uint64, zero), code


@_inserted
def pack_group(typing: Any, source: Any, at: Any, base: Any, full: Any, signs: Any, target: Any, rests_at: Any,
               low_bits: Any, high_bits: Any, gap: Any, parts_at: Any, low: Any, high: Any, zero: Any) -> Any:
    """Write the data of a group. Up to 16 bytes behind its rests and 4 behind its byte parts are written, too.

    Parameters
    ----------
    source, at
        The elements.
    base, full
        Elements with the exponents of the base, and of the distance that stands for exponent 0.
    signs
        Whether signs are stored.
    target, rests_at, parts_at
        Where rests and byte parts go.
    low_bits, high_bits, gap
        The first bits of the rests of each octet, as bytes of a word, and the bits of the first octet, at most 64.
    low, high
        The bytes before each byte part, as bytes of words.
    """
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, at, base, full, signs, target, rests_at, low_bits, high_bits, gap, parts_at, low, high, _ = arguments
        lanes = _Lanes(builder, zero)
        field, mantissa = 0xFF << lanes.mantissa, (1 << lanes.mantissa) - 1
        values = lanes.load(source, at)
        exponents = builder.and_(values, lanes.all(field))
        distance = builder.select(builder.icmp_unsigned("==", exponents, lanes.all(0)), lanes.splat(full),
                                  builder.sub(lanes.splat(base), exponents))
        sign = builder.shl(builder.lshr(values, lanes.all(lanes.bits - 1)), lanes.all(lanes.mantissa))
        words = builder.or_(builder.shl(distance, lanes.splat(signs)), sign)
        words = builder.or_(words, builder.and_(values, lanes.all(mantissa)))
        words = builder.select(builder.icmp_unsigned("!=", values, lanes.all(0)), words, lanes.all(0))
        rests = builder.trunc(builder.lshr(words, lanes.all(lanes.bits - 8)), lanes.bytes)
        if lanes.count == 8:
            _store(builder, _squeezed(builder, rests, low_bits), target, rests_at)
        else:
            both = ir.IntType(128)
            first, second = (
                builder.zext(_squeezed(builder, _half(builder, rests, number), bits), both)
                for number, bits in enumerate((low_bits, high_bits)))
            second = builder.shl(second, builder.zext(gap, both))
            _store(builder, builder.or_(first, second), target, rests_at)
        parts = builder.trunc(words, lanes.bytes) if lanes.bits == 16 else words
        for lane, place in enumerate(_places(builder, parts_at, (low, high), lanes.count)):
            _store(builder, builder.extract_element(parts, ir.IntType(32)(lane)), target, place)
        return context.get_dummy_value()

    word = types.uint64
    return types.void(_BYTES, word, zero, zero, zero, _BYTES, word, word, word, word, word, word, word, zero), code


def _squeezed(builder: Any, octet: Any, bits: Any) -> Any:
    """Eight bytes or'ed into a word, each from its bit on."""
    numbers, places = (builder.zext(builder.bitcast(one, _OCTET), _WORDS) for one in (octet, bits))
    return _reduce(builder, "or", builder.shl(numbers, places))


def _spread(builder: Any, word: Any, bits: Any, mask: Any) -> Any:
    """Eight bytes of a word, each from its bit on and masked."""
    places = builder.zext(builder.bitcast(bits, _OCTET), _WORDS)
    numbers = builder.lshr(_splat(builder, word, _WORDS), places)
    return builder.trunc(builder.and_(numbers, _splat(builder, mask, _WORDS)), _OCTET)


def _half(builder: Any, lanes: Any, number: int) -> Any:
    """The first or second eight lanes of sixteen."""
    order = ir.Constant(ir.VectorType(ir.IntType(32), 8), list(range(8 * number, 8 * number + 8)))
    return builder.shuffle_vector(lanes, lanes, order)


@_inserted
def expand_group(typing: Any, source: Any, parts_at: Any, low: Any, high: Any, rests: Any, more: Any, low_bits: Any,
                 high_bits: Any, mask: Any, tag: Any, base: Any, full: Any, signs: Any, kept: Any, target: Any, to: Any,
                 zero: Any) -> Any:
    """Write the elements of a group. Up to 25 bytes behind the begin of its byte parts are read.

    Parameters
    ----------
    source, parts_at
        The byte parts.
    low, high
        The bytes before each byte part, as bytes of words.
    rests, more, low_bits, high_bits, mask
        Words with the rests of each octet, the first bits of each one as bytes of a word, and the bits of a rest.
    tag
        Of the group.
    base, full
        Elements with the exponents of the base, and of the distance that stands for exponent 0; the latter has other
        bits if there is none.
    signs
        Whether signs are stored.
    kept
        The bits of a byte part and a rest that are not ignored.
    target, to
        Where the elements go.
    """
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, parts_at, low, high, *octets, mask, tag, base, full, signs, kept, target, to, _ = arguments
        rests, more, low_bits, high_bits = octets
        lanes = _Lanes(builder, zero)
        field, mantissa = 0xFF << lanes.mantissa, (1 << lanes.mantissa) - 1
        kind = lanes.bytes if lanes.bits == 16 else lanes.type
        words = ir.Constant(kind, ir.Undefined)
        for lane, place in enumerate(_places(builder, parts_at, (low, high), lanes.count)):
            words = builder.insert_element(words, _load(builder, source, place, kind.element), ir.IntType(32)(lane))
        tops = _spread(builder, rests, low_bits, mask)
        if lanes.bits == 16:
            words = builder.zext(words, lanes.type)
            order = ir.Constant(ir.VectorType(ir.IntType(32), 16), list(range(16)))
            tops = builder.shuffle_vector(tops, _spread(builder, more, high_bits, mask), order)
        tops = builder.shl(builder.zext(tops, lanes.type), lanes.all(lanes.bits - 8))
        words = builder.or_(builder.and_(words, lanes.all((1 << lanes.bits - 8) - 1)), tops)
        words = builder.and_(words, lanes.splat(kept))
        distance = builder.and_(builder.lshr(words, lanes.splat(signs)), lanes.all(field))
        exponents = builder.and_(builder.sub(lanes.splat(base), distance), lanes.all(field))
        exponents = builder.select(builder.icmp_unsigned("==", distance, lanes.splat(full)), lanes.all(0), exponents)
        sign = builder.and_(words, lanes.splat(builder.shl(signs, lanes.number(lanes.mantissa))))
        values = builder.or_(exponents, builder.shl(sign, lanes.all(8)))
        values = builder.or_(values, builder.and_(words, lanes.all(mantissa)))
        found = builder.bitcast(builder.trunc(tag, ir.IntType(lanes.count)), ir.VectorType(ir.IntType(1), lanes.count))
        _store(builder, builder.select(found, values, lanes.all(0)), target, to)
        return context.get_dummy_value()

    word = types.uint64
    return types.void(_BYTES, *[word] * 9, zero, zero, zero, zero, _BYTES, word, zero), code
