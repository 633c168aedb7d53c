"""UART and printer by themselves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.hdl.selftest.uart import Printer, UartTransmitter
from tests.hdl.bench import clocked, pulse


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
@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 16) | st.integers(0, 7).map(lambda k: 10 << 4 * k),
                min_size=3, max_size=3), st.randoms())
def test_printer_fills_numbers_in(numbers: list[int], random: Any) -> None:
    printer = Printer([["nothing\r\n"], ["a=", 0, " b=", 2, "!"], [1]], 3)
    first, second, third = numbers
    expected = {1: f"a={first:x} b={third:x}!", 2: f"{second:x}", 0: "nothing\r\n"}

    async def process(ctx: Any) -> None:
        for k, number in enumerate(numbers):
            ctx.set(printer.numbers[k], number)
        for message, wanted in expected.items():
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
