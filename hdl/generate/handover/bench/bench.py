"""First transfers through the engine as in bench.cpp, with cocotb 2 and the AXI models of cocotbext-axi.

    make cocotb             in Verilator; a seed by chance, which is printed
    make cocotb SIM=icarus SEED=7

Descriptors are written to the registers and completions are read there word by word, as a driver of your own would.
"""

import itertools
import logging
import os
import random
import re
import struct
import sys
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiSlaveRead, AxiSlaveWrite

HERE = Path(__file__).resolve().parent
HEADER = (HERE / "engine.h").read_text()
ENGINE = re.findall(r'#define ENGINE "(\w+)"', HEADER)[0]
REGISTERS = (HERE.parent / f"{ENGINE}_regs.h").read_text()
NUMBERS = {name: int(value, 0)
           for name, value in re.findall(r"^#define (\w+) +(0x[0-9a-f]+|\d+)", HEADER + REGISTERS, re.MULTILINE)}
"""What both headers define."""

OFFLOAD, PREFETCH = NUMBERS["CDMA_OPERATION_OFFLOAD"], NUMBERS["CDMA_OPERATION_PREFETCH"]
INTERRUPT, CHECK_CRC = 1, 2     # flags of a descriptor
SLVERR = 2


class Memory:
    """The bytes behind one or more AXI ports: noise, but for what is loaded."""

    def __init__(self, rng, size):
        self.base = rng.randrange(1 << NUMBERS["ADDRESS_BITS"] - 24) << 24
        self.bytes = bytearray(rng.randbytes(size))
        self.faulty = range(0)      # addresses that answer with SLVERR

    def place(self, address, size):
        at = address - self.base
        assert 0 <= at and at + size <= len(self.bytes), f"access outside of the memory, at {address:#x}"
        if address in self.faulty:
            raise RuntimeError("the model answers with SLVERR")
        return slice(at, at + size)

    async def read(self, address, size):
        return bytes(self.bytes[self.place(address, size)])

    async def write(self, address, data):
        self.bytes[self.place(address, len(data))] = data


class Engine:
    """The engine, its registers and its memories."""

    def __init__(self, dut, rng):
        self.dut = dut
        size = 4 * NUMBERS["RAW_BYTES"] + 16 * NUMBERS["BLOCK_BYTES"]
        self.device, self.link = Memory(rng, size), Memory(rng, size)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.aclk, dut.aresetn,
                                       reset_active_level=False)
        clock = "link_" if NUMBERS["LINK_CLOCK"] else ""
        ports = [(f"m_axi_lane{lane}", "", self.device) for lane in range(NUMBERS["LANES"])]
        logging.getLogger(f"cocotb.{ENGINE}.s_axil").setLevel(logging.ERROR)
        for prefix, domain, memory in [*ports, ("m_axi_link", clock, self.link)]:
            logging.getLogger(f"cocotb.{ENGINE}.{prefix}").setLevel(logging.ERROR)
            bus = AxiBus.from_prefix(dut, prefix)
            pins = getattr(dut, f"{domain}aclk"), getattr(dut, f"{domain}aresetn"), memory, False
            read, write = AxiSlaveRead(bus.read, *pins), AxiSlaveWrite(bus.write, *pins)
            for channel in (read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel):
                often = rng.choice((0, rng.random() / 2))
                if often:
                    channel.set_pause_generator(itertools.cycle([rng.random() < often for _ in range(997)]))

    async def start(self, rng):
        self.dut.aresetn.value = 0
        Clock(self.dut.aclk, 10, "ns").start()
        if NUMBERS["LINK_CLOCK"]:
            self.dut.link_aresetn.value = 0
            Clock(self.dut.link_aclk, 2 * rng.randint(2, 14), "ns").start()
        await ClockCycles(self.dut.aclk, 20)
        self.dut.aresetn.value = 1
        if NUMBERS["LINK_CLOCK"]:
            await RisingEdge(self.dut.link_aclk)
            self.dut.link_aresetn.value = 1
        await ClockCycles(self.dut.aclk, 20)
        assert await self.read("CDMA_REG_MAGIC") == NUMBERS["CDMA_MAGIC"]

    async def write(self, register, value, page=0, word=0):
        answer = await self.registers.write(page + NUMBERS[register] + 4 * word, value.to_bytes(4, "little"))
        assert answer.resp == 0, f"{register} is not written"

    async def read(self, register, page=0, word=0):
        answer = await self.registers.read(page + NUMBERS[register] + 4 * word, 4)
        assert answer.resp == 0, f"{register} is not read"
        return int.from_bytes(answer.data, "little")

    async def run(self, operation, source, destination, capacity, packed_bytes=0, crc=0):
        """Descriptor in, doorbell, interrupt, completion out: its words."""
        page = NUMBERS["CDMA_OFFLOAD_PAGE" if operation == OFFLOAD else "CDMA_PREFETCH_PAGE"]
        flags = INTERRUPT | CHECK_CRC * (operation == PREFETCH and NUMBERS["HAS_CRC"])
        descriptor = struct.pack("<BBHI5QI12x", operation, NUMBERS["CODING"], flags, 7, source, destination,
                                 NUMBERS["RAW_BYTES"], capacity, packed_bytes, crc)
        for word, value in enumerate(struct.unpack("<16I", descriptor)):
            await self.write("CDMA_CHANNEL_DESCRIPTOR_0", value, page, word)
        await self.write("CDMA_REG_IRQ_STATUS", await self.read("CDMA_REG_IRQ_STATUS"))
        await self.write("CDMA_REG_IRQ_ENABLE", 0x33)   # completions and errors of both directions
        await self.write("CDMA_CHANNEL_DOORBELL", 1, page)
        if not self.dut.irq.value:
            await with_timeout(RisingEdge(self.dut.irq), 100, "ms")
        assert await self.read("CDMA_CHANNEL_COMPLETIONS", page)
        words = [await self.read("CDMA_CHANNEL_COMPLETION_0", page, word) for word in range(12)]
        await self.write("CDMA_CHANNEL_COMPLETION_POP", 1, page)
        assert words[0] == 7 and words[1] >> 24 == operation
        return words

    async def round(self, tensor, stream):
        """Offload and prefetch the tensor; every byte of both memories is compared."""
        block_bytes = NUMBERS["BLOCK_BYTES"]
        source, target = (self.device.base + n * block_bytes for n in (1, len(tensor) // block_bytes + 4))
        packed_at = self.link.base + 3 * NUMBERS["LINK_BEAT_BYTES"]
        capacity = len(tensor) + 4 * (len(tensor) // block_bytes + 1)
        self.device.bytes[self.device.place(source, len(tensor))] = tensor
        device, link = bytearray(self.device.bytes), bytearray(self.link.bytes)
        words = await self.run(OFFLOAD, source, packed_at, capacity)
        assert words[1] & 255 == 0, f"the offload ends with status {words[1] & 255:#x}"
        crc = NUMBERS["STREAM_CRC"] if NUMBERS["HAS_CRC"] else 0
        assert words[2:8] == [crc, NUMBERS["RAW_BLOCKS"], len(stream), 0, NUMBERS["NONZERO"], 0]
        link[self.link.place(packed_at, len(stream))] = stream
        assert self.link.bytes == link, "link memory has the stream, and is otherwise as it was"
        words = await self.run(PREFETCH, packed_at, target, len(tensor), len(stream), crc)
        assert words[1] & 255 == 0, f"the prefetch ends with status {words[1] & 255:#x}"
        device[self.device.place(target, len(tensor))] = tensor
        assert self.device.bytes == device, "device memory has the tensor twice, and is otherwise as it was"
        self.dut._log.info("%d -> %d -> %d bytes, every one as expected", len(tensor), len(stream), len(tensor))
        return source, packed_at, capacity


@cocotb.test()
async def first_transfers(dut):
    """An offload and a prefetch, one that a memory answers with an error, and both once more."""
    rng = random.Random(int(os.environ["SEED"]))
    tensor, stream = (HERE / "tensor.bin").read_bytes(), (HERE / "stream.bin").read_bytes()
    engine = Engine(dut, rng)
    await engine.start(rng)
    source, packed_at, capacity = await engine.round(tensor, stream)
    fault = source + rng.randrange(len(tensor) // 64) * 64
    engine.device.faulty = range(fault, fault + 64)
    words = await engine.run(OFFLOAD, source, packed_at, capacity)
    engine.device.faulty = range(0)
    dut._log.info("a read is answered with SLVERR: status %#x", words[1] & 255)
    lane = fault // NUMBERS["BLOCK_BYTES"] % NUMBERS["LANES"]
    assert words[1] == NUMBERS["CDMA_STATUS_LANE_READ_ERROR"] | lane << 8 | SLVERR << 16 | OFFLOAD << 24
    assert fault - 4096 < words[10] | words[11] << 32 <= fault
    await engine.round(tensor, stream)


def main():
    """Compile the engine and run the test."""
    simulator = os.environ.get("SIM", "verilator")
    seed = os.environ.get("SEED") or str(random.randrange(10**6))
    print(f"{ENGINE}: make cocotb SEED={seed} SIM={simulator}", flush=True)
    options = {
        "verilator": ["-Wno-lint", "-Wno-UNOPTFLAT", "--x-initial", "unique", "--x-assign", "unique",
                      # The bench sees the ports alone: with all signals public it compiles three times as long.
                      "--no-public-flat-rw", "--public-depth", "1"],
        "icarus": []}[simulator]
    # Verilator's Python package leaves out how to include what is compiled first.
    os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
    runner = get_runner(simulator)
    folder = HERE / "build_cocotb" / simulator
    # The Verilog has no delays and no `timescale; Icarus would count in seconds, in which no clock of 10 ns fits.
    sources = [HERE.parent / each for each in (HERE.parent / f"{ENGINE}.f").read_text().split()]
    runner.build(sources=sources, hdl_toplevel=ENGINE, build_args=options, build_dir=folder, timescale=("1ns", "1ps"))
    plusargs = {"verilator": ["+verilator+rand+reset+2", f"+verilator+seed+{int(seed) + 1}"], "icarus": []}[simulator]
    found = runner.test(test_module="bench", hdl_toplevel=ENGINE, build_dir=folder, test_dir=HERE, seed=seed,
                        plusargs=plusargs, extra_env={"SEED": seed}, results_xml=str(folder / "results.xml"),
                        timescale=("1ns", "1ps"))
    tests, failed = get_results(found)
    print("PASS" if tests and not failed else f"FAIL\nmake cocotb SEED={seed} SIM={simulator} repeats it")
    sys.exit(not tests or failed > 0)


if __name__ == "__main__":
    main()
