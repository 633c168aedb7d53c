"""Noise, divider, decimal digits, UART and printer by themselves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.hdl.selftest.decimal import Decimal
from cdma.hdl.selftest.divider import Divider
from cdma.hdl.selftest.noise import Noise
from cdma.hdl.selftest.printer import Printer
from cdma.hdl.selftest.text import Number
from cdma.hdl.selftest.uart import UartTransmitter
from tests.hdl.bench import clocked, pulse


def test_noise_steps_and_restarts() -> None:
    noise = Noise(2)
    # Word 0 by hand: 0x9E3779B9 ^ 0xEF372000 = 0x710059B9, ^ 0x00003880 = 0x71006139, ^ 0x200C2720 = 0x510C4619.
    first, second = 0x9E3779B9, 0x510C4619

    async def process(ctx: Any) -> None:
        for expected in (first, second):
            assert ctx.get(noise.bits) & 0xFFFFFFFF == expected
            ctx.set(noise.step, 1)
            await ctx.tick()
        ctx.set(noise.step, 0)
        held = ctx.get(noise.bits)
        await ctx.tick()
        assert ctx.get(noise.bits) == held
        assert held >> 32 != held & 0xFFFFFFFF
        ctx.set(noise.restart, 1)
        await ctx.tick()
        assert ctx.get(noise.bits) & 0xFFFFFFFF == first

    clocked(noise, process)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 2**12 - 1), st.integers(0, 2**12 - 1) | st.integers(0, 9)),
                min_size=1, max_size=20))
def test_divider_divides(pairs: list[tuple[int, int]]) -> None:
    divider = Divider(12)

    async def process(ctx: Any) -> None:
        for dividend, divisor in pairs:
            ctx.set(divider.dividend, dividend)
            ctx.set(divider.divisor, divisor)
            await pulse(ctx, divider.start)
            ctx.set(divider.dividend, 0)
            ctx.set(divider.divisor, 1)
            for _ in range(12):
                assert not ctx.get(divider.done)
                await ctx.tick()
            assert ctx.get(divider.done)
            assert ctx.get(divider.quotient) == (dividend // divisor if divisor else 0)

    clocked(divider, process)


@settings(max_examples=20)
@given(st.lists(st.integers(0, 2**14 - 1), min_size=1, max_size=20))
def test_decimal_has_the_digits(numbers: list[int]) -> None:
    decimal = Decimal(14)

    async def process(ctx: Any) -> None:
        for number in numbers:
            ctx.set(decimal.number, number)
            await pulse(ctx, decimal.start)
            await ctx.tick().until(decimal.done)
            digits = "".join(str(ctx.get(decimal.digits[k])) for k in reversed(range(5)))
            assert digits == f"{number:05}"

    clocked(decimal, process)


@pytest.mark.parametrize("divisor", [1, 3])
def test_uart_sends_frames(divisor: int) -> None:
    uart = UartTransmitter(divisor)
    text = b"\x00\xffU"
    line: list[int] = []

    async def watch(ctx: Any) -> None:
        while True:
            await ctx.tick()
            line.append(ctx.get(uart.tx))

    async def process(ctx: Any) -> None:
        for code in text:
            ctx.set(uart.i.payload, code)
            ctx.set(uart.i.valid, 1)
            await ctx.tick().until(uart.i.ready)
        ctx.set(uart.i.valid, 0)
        await ctx.tick().repeat(12 * divisor)

    clocked(uart, process, watch)
    cycles = iter(line)
    received = []
    for level in cycles:
        if level == 0:
            rest = [next(cycles) for _ in range(10 * divisor - 1)]
            bits = [level, *rest][::divisor]
            # Every bit has its whole length.
            assert [level, *rest] == [bit for bit in bits for _ in range(divisor)]
            assert bits[9] == 1
            received.append(sum(bit << k for k, bit in enumerate(bits[1:9])))
    assert bytes(received) == text


@settings(max_examples=10)
@given(st.integers(0, 2**17 - 1), st.integers(1, 2**17 - 1), st.integers(0, 2**17 - 1), st.randoms())
def test_printer_fills_numbers_in(first: int, second: int, third: int, random: Any) -> None:
    printer = Printer([["nothing\r\n"], ["a ", Number(0), " b ", Number(2, True), "!"], [Number(1)]], 3, 17)
    # The middle one is a true quotient.
    quotients = [(first, 1), (third, second), (third, 1)]
    expected = [f"a {first} b {third // 1000}.{third % 1000:03}!", str(third // second), "nothing\r\n"]

    async def process(ctx: Any) -> None:
        for k, (dividend, divisor) in enumerate(quotients):
            ctx.set(printer.dividends[k], dividend)
            ctx.set(printer.divisors[k], divisor)
        for message, wanted in zip((1, 2, 0), expected, strict=True):
            ctx.set(printer.message, message)
            await pulse(ctx, printer.start)
            text = ""
            while not ctx.get(printer.done):
                ready = random.random() < 0.7
                ctx.set(printer.o.ready, ready)
                if ready and ctx.get(printer.o.valid):
                    text += chr(ctx.get(printer.o.payload))
                await ctx.tick()
            assert text == wanted

    clocked(printer, process)
