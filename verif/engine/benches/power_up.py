"""An engine from power-up: for any start values of registers, no output is unknown after reset, and transfers pass."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Completion
from cdma.verif.common import job
from cdma.verif.common.tensors import network_values
from cdma.verif.engine.pages import listed_bytes
from cdma.verif.engine.stimulus import RawTensor, codings
from cdma.verif.engine.testbench import EngineTestbench, of_job

_HANDSHAKES = ("irq", "s_axil_awready", "s_axil_wready", "s_axil_arready", "s_axil_bvalid", "s_axil_rvalid")
_PAYLOADS = {"s_axil_bvalid": ("s_axil_bresp",), "s_axil_rvalid": ("s_axil_rdata", "s_axil_rresp")}
_DENSITIES = (0.4, 0.0, 1.0)


@cocotb.test()
async def there_and_back(dut: Any) -> None:
    """Offload and prefetch a few tensors of the first and of the last coding, coded and raw; report what every
    completion says.

    The memories watch the engine's AXI4 ports for unknown values, this bench watches its registers' port and its
    interrupt.
    """
    bench = of_job(dut)
    # A simulator may run the first edge of the clock before the reset has arrived: the engine sees one cycle of it.
    await bench.reset(cycles=2)
    watcher = cocotb.start_soon(_watch(bench))
    tensors = [tensor for coding in dict.fromkeys(codings(bench.config)[::len(bench.config.codings) - 1 or 1])
               for tensor in _tensors(bench, coding)]
    found = await _move(bench, tensors)
    watcher.cancel()
    job.report({"completions": found})


def _tensors(bench: EngineTestbench, coding: Coding) -> list[RawTensor]:
    """A tensor of a block and a short one, one of an element, and a dense one of a block."""
    size, block = coding.element_bytes, bench.config.block_bytes
    lengths = (block + 2 * bench.config.beat_bytes + size, size, block)
    return [RawTensor(network_values(bench.rng, coding, length // size, density), coding)
            for length, density in zip(lengths, _DENSITIES, strict=True)]


async def _move(bench: EngineTestbench, tensors: list[RawTensor]) -> list[Completion]:
    offloads = [bench.offload(tensor) for tensor in tensors]
    out = await bench.load_and_run(offloads)
    await bench.compare()
    streams = [listed_bytes(bench.link_arena, descriptor.destination, descriptor, completion.bytes_written)
               for descriptor, completion in zip(offloads, out, strict=True)]
    back = await bench.run([bench.prefetch(stream, tensor, written=descriptor)
                            for stream, tensor, descriptor in zip(streams, tensors, offloads, strict=True)])
    await bench.compare()
    await bench.counters()
    bench.scoreboard.check()
    return [*out, *back]


async def _watch(bench: EngineTestbench) -> None:
    """Note a fault when a handshake or the interrupt is unknown, or what a valid stands for."""
    dut = bench.dut
    while True:
        await FallingEdge(dut.aclk)
        for name in _HANDSHAKES:
            value = getattr(dut, name).value
            names = [name]
            if value.is_resolvable and int(value):
                names += _PAYLOADS.get(name, ())
            for each in names:
                if not getattr(dut, each).value.is_resolvable:
                    bench.scoreboard.fault(f"{each} is {getattr(dut, each).value} after reset")
                    return
