"""First transfers through the engine as in bench.cpp, with cocotb 2 and the AXI models of cocotbext-axi.

    make cocotb             in Verilator; a seed by chance, which is printed
    make cocotb SIM=icarus SEED=7

Descriptors are written to the registers and completions are read there word by word, as a driver of your own would;
then descriptors come through rings, and completions through memory where that is built.
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
HEADERS = HEADER + (HERE.parent / f"{ENGINE}_regs.h").read_text() + (HERE.parent / "cdma_driver.h").read_text()
NUMBERS = {name: int(value, 0)
           for name, value in re.findall(r"^(?:#define|   ) (\w+) +(?:= )?(0x[0-9a-f]+|\d+)", HEADERS, re.MULTILINE)}
"""What the headers define."""

OFFLOAD, PREFETCH = NUMBERS["CDMA_OPERATION_OFFLOAD"], NUMBERS["CDMA_OPERATION_PREFETCH"]
PAGE_LIST = NUMBERS["CDMA_PAGE_LIST"]
SLVERR = 2

# Link memory begins with what processor and engine share: rings of descriptors and of completions, and a page list.
RINGS, RECORDS, LIST, SHARED = 0, 2048, 4096, 8192


class Sample:
    """A line of EACH_SAMPLE: what a prefetch gives back, the stream that it comes from, and what the offload counts."""

    def __init__(self, back, stream, coding, flags, *counts):
        self.back, self.stream = (HERE / back).read_bytes(), (HERE / stream).read_bytes()
        self.coding = NUMBERS[coding]
        self.flags = NUMBERS[flags] if flags != "0" else 0
        self.nonzero, self.raw_blocks, self.crc = (int(each, 0) for each in counts)


class Memory:
    """The bytes behind one or more AXI ports: noise, but for what is loaded."""

    def __init__(self, rng, size, attributes):
        self.base = rng.randrange(1, (1 << NUMBERS["ADDRESS_BITS"] - 24) - 1) << 24
        self.bytes = bytearray(rng.randbytes(-(-size // 4096) * 4096))
        self.end = self.base + len(self.bytes)
        self.attributes = [int(each) for each in
                           re.findall(rf"{attributes} {{(\d+), (\d+), (\d+), (\d+)", HEADER)[0]]
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
        self.dut, self.rng = dut, rng
        size = 4 * NUMBERS["RAW_BYTES"] + 16 * NUMBERS["BLOCK_BYTES"]
        self.device = Memory(rng, size, "LANE_ATTRIBUTES")
        self.link = Memory(rng, size + 65536, "LINK_ATTRIBUTES")
        self.samples = [Sample(*re.split(", ", line.replace('"', "")))
                        for line in re.findall(r'^ +X\((".*)\)', HEADER, re.MULTILINE)]
        self.tails = dict.fromkeys((OFFLOAD, PREFETCH), None)     # of the rings of descriptors, once they are enabled
        self.heads = dict(self.tails)                             # of the rings of completions
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.aclk, dut.aresetn,
                                       reset_active_level=False)
        self.watched = []
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
            self.watched += [(f"{prefix}_{channel}", pins[0], memory) for channel in ("ar", "aw")]

    async def watch(self, channel, clock, memory):
        """The first address of each row of addresses has the attributes that its memory asks for."""
        names = ("cache", "prot", "qos", "user")[:4 if NUMBERS["USER_BITS"] else 3]
        while True:
            await RisingEdge(getattr(self.dut, f"{channel}valid"))
            await RisingEdge(clock)
            found = [int(getattr(self.dut, f"{channel}{name}").value) for name in names]
            assert found == memory.attributes[:len(names)], f"attributes at {channel}"

    async def start(self):
        self.dut.aresetn.value = 0
        Clock(self.dut.aclk, 10, "ns").start()
        if NUMBERS["LINK_CLOCK"]:
            self.dut.link_aresetn.value = 0
            Clock(self.dut.link_aclk, 2 * self.rng.randint(2, 14), "ns").start()
        await ClockCycles(self.dut.aclk, 20)
        self.dut.aresetn.value = 1
        if NUMBERS["LINK_CLOCK"]:
            await RisingEdge(self.dut.link_aclk)
            self.dut.link_aresetn.value = 1
        await ClockCycles(self.dut.aclk, 20)
        for watched in self.watched:
            cocotb.start_soon(self.watch(*watched))
        assert await self.read("CDMA_REG_MAGIC") == NUMBERS["CDMA_MAGIC"]
        self.features = await self.read("CDMA_REG_FEATURES")
        await self.write("CDMA_REG_IRQ_ENABLE", 0x33)   # completions and errors of both directions

    def built(self, option):
        return bool(self.features & NUMBERS[f"CDMA_REG_FEATURES_{option}_MASK"])

    async def write(self, register, value, page=0, word=0):
        answer = await self.registers.write(page + NUMBERS[register] + 4 * word, value.to_bytes(4, "little"))
        assert answer.resp == 0, f"{register} is not written"

    async def write_address(self, register, value, page=0):
        await self.write(f"{register}_LO", value & 0xFFFFFFFF, page)
        await self.write(f"{register}_HI", value >> 32, page)

    async def read(self, register, page=0, word=0):
        answer = await self.registers.read(page + NUMBERS[register] + 4 * word, 4)
        assert answer.resp == 0, f"{register} is not read"
        return int.from_bytes(answer.data, "little")

    async def choose(self):
        """Attributes by chance, and windows around the two memories, where registers for them are built."""
        if self.built("ATTRIBUTE_REGISTERS"):
            for memory, port in (self.device, "LANE"), (self.link, "LINK"):
                limits = (4, 8, 16, 1 << NUMBERS["USER_BITS"])
                cache, prot, qos, user = (self.rng.randrange(limit) for limit in limits)
                cache = 4 * cache + 2       # modifiable, as what may be allocated has to be
                memory.attributes = [cache, prot, qos, user]
                await self.write(f"CDMA_REG_{port}_ATTRIBUTES", cache | prot << 4 | qos << 8 | user << 16)
        if self.built("ADDRESS_WINDOWS"):
            for memory, name in (self.device, "DEVICE"), (self.link, "LINK"):
                await self.write_address(f"CDMA_REG_{name}_BASE", memory.base)
                await self.write_address(f"CDMA_REG_{name}_LIMIT", memory.end)
            await self.write("CDMA_REG_WINDOW_CONTROL", NUMBERS["CDMA_REG_WINDOW_CONTROL_LOCK_MASK"])
            status = (await self.run(OFFLOAD, self.samples[0], self.device.end, self.link.base))[1] & 255
            assert status == NUMBERS["CDMA_STATUS_SOURCE_OUTSIDE_WINDOW"]

    async def begin_rings(self, records):
        """From now on, descriptors come through rings in link memory, or completions do."""
        for n, operation in enumerate((OFFLOAD, PREFETCH)):
            place = (RECORDS if records else RINGS) + 1024 * n
            kind = "_WRITE_BACK" if records else ""
            page = NUMBERS[f"CDMA_{'OFFLOAD' if operation == OFFLOAD else 'PREFETCH'}{kind}_PAGE"]
            registers = "CDMA_WRITE_BACK" if records else "CDMA_CHANNEL_RING"
            self.link.bytes[place:place + 1024] = bytes(1024)
            await self.write_address(f"{registers}_BASE", self.link.base + place, page)
            await self.write(f"{registers}_SIZE", 16, page)
            await self.write(f"{registers}_CONTROL", 1, page)
            (self.heads if records else self.tails)[operation] = 0

    async def run(self, operation, sample, source, destination, flags=0):
        """Descriptor in, doorbell, interrupt, completion out: its words."""
        page = NUMBERS["CDMA_OFFLOAD_PAGE" if operation == OFFLOAD else "CDMA_PREFETCH_PAGE"]
        place = 1024 * (operation == PREFETCH)
        checked = operation == PREFETCH and self.built("CRC")
        flags |= sample.flags | NUMBERS["CDMA_INTERRUPT"] | NUMBERS["CDMA_CHECK_CRC"] * checked
        pages = (self.pages, 12) if flags & PAGE_LIST else (0, 0)
        raw_bytes = NUMBERS["RAW_BYTES"]
        descriptor = struct.pack("<BBHI5Q3I4x", operation, sample.coding, flags, 7, source, destination, raw_bytes,
                                 self.capacity if operation == OFFLOAD else raw_bytes,
                                 len(sample.stream) * (operation == PREFETCH), sample.crc * checked, *pages)
        await self.write("CDMA_REG_IRQ_STATUS", await self.read("CDMA_REG_IRQ_STATUS"))
        tail = self.tails[operation]
        if tail is None:
            for word, value in enumerate(struct.unpack("<16I", descriptor)):
                await self.write("CDMA_CHANNEL_DESCRIPTOR_0", value, page, word)
            await self.write("CDMA_CHANNEL_DOORBELL", 1, page)
        else:
            self.link.bytes[self.link.place(self.link.base + RINGS + place + 64 * tail, 64)] = descriptor
            self.tails[operation] = (tail + 1) % 16
            await self.write("CDMA_CHANNEL_RING_TAIL", self.tails[operation], page)
        if not self.dut.irq.value:
            await with_timeout(RisingEdge(self.dut.irq), 100, "ms")
        head = self.heads[operation]
        if head is None:
            assert await self.read("CDMA_CHANNEL_COMPLETIONS", page)
            words = [await self.read("CDMA_CHANNEL_COMPLETION_0", page, word)
                     for word in range(12 + self.built("PAGE_LISTS"))]
            await self.write("CDMA_CHANNEL_COMPLETION_POP", 1, page)
        else:
            words = struct.unpack_from("<16I", self.link.bytes, RECORDS + place + 64 * head)
            assert words[15] & 1, "the record is there before the interrupt"
            self.heads[operation] = head + 1
        assert words[0] == 7 and words[1] >> 24 == operation
        return words

    @property
    def capacity(self):
        return NUMBERS["RAW_BYTES"] + 4 * (NUMBERS["RAW_BYTES"] // NUMBERS["BLOCK_BYTES"] + 1)

    @property
    def pages(self):
        return -(-self.capacity // 4096)

    async def transfer(self, what, sample, flags=0):
        """Offload and prefetch the tensor; every byte of both memories is compared. With PAGE_LIST the stream is in
        pages of 4 KiB, in any order."""
        tensor, size = self.samples[0].back, NUMBERS["RAW_BYTES"]
        self.source, target = (self.device.base + n * NUMBERS["BLOCK_BYTES"]
                               for n in (1, size // NUMBERS["BLOCK_BYTES"] + 4))
        self.stream = place = self.link.base + SHARED + 3 * NUMBERS["LINK_BEAT_BYTES"]
        parts, part = [self.stream], self.capacity
        if flags & PAGE_LIST:
            place, part = self.link.base + LIST, 4096
            parts = [self.link.base + SHARED + n * part for n in self.rng.sample(range(self.pages), self.pages)]
            struct.pack_into(f"<{len(parts)}Q", self.link.bytes, LIST, *parts)
        self.device.bytes[self.device.place(self.source, size)] = tensor
        device, link = bytearray(self.device.bytes), bytearray(self.link.bytes[SHARED:])
        words = await self.run(OFFLOAD, sample, self.source, place, flags)
        assert words[1] & 255 == 0, f"{what}: the offload ends with status {words[1] & 255:#x}"
        crc = sample.crc if self.built("CRC") else 0
        assert list(words[2:8]) == [crc, sample.raw_blocks, len(sample.stream), 0, sample.nonzero, 0]
        for at in range(0, len(sample.stream), part):
            piece = sample.stream[at:at + part]
            begin = parts[at // part] - self.link.base - SHARED
            link[begin:begin + len(piece)] = piece
        assert self.link.bytes[SHARED:] == link, "link memory has the stream, and is otherwise as it was"
        words = await self.run(PREFETCH, sample, place, target, flags)
        assert words[1] & 255 == 0, f"{what}: the prefetch ends with status {words[1] & 255:#x}"
        device[self.device.place(target, size)] = sample.back
        assert self.device.bytes == device, "device memory has the tensor twice, and is otherwise as it was"
        self.dut._log.info("%s: %d -> %d -> %d bytes, every one as expected", what, size, len(sample.stream), size)

    async def fault(self):
        """A read of the tensor that its memory answers with an error."""
        beat = self.source + self.rng.randrange(NUMBERS["RAW_BYTES"] // 64) * 64
        self.device.faulty = range(beat, beat + 64)
        words = await self.run(OFFLOAD, self.samples[0], self.source, self.stream)
        self.device.faulty = range(0)
        self.dut._log.info("a read is answered with SLVERR: status %#x", words[1] & 255)
        lane = beat // NUMBERS["BLOCK_BYTES"] % NUMBERS["LANES"]
        assert words[1] == NUMBERS["CDMA_STATUS_LANE_READ_ERROR"] | lane << 8 | SLVERR << 16 | OFFLOAD << 24
        assert beat - 4096 < words[10] | words[11] << 32 <= beat

    async def parity(self):
        """A bit changes in a memory of a lane."""
        lane = self.source // NUMBERS["BLOCK_BYTES"] % NUMBERS["LANES"]
        await self.write("CDMA_REG_BUFFER_INJECT", NUMBERS["CDMA_REG_BUFFER_INJECT_INJECT_MASK"]
                         | lane << NUMBERS["CDMA_REG_BUFFER_INJECT_LANE_SHIFT"]
                         | NUMBERS["CDMA_MEMORY_RAW_BEATS"] << NUMBERS["CDMA_REG_BUFFER_INJECT_MEMORY_SHIFT"])
        words = await self.run(OFFLOAD, self.samples[0], self.source, self.stream)
        assert words[1] == NUMBERS["CDMA_STATUS_BUFFER_PARITY"] | lane << 8 | OFFLOAD << 24


@cocotb.test()
async def first_transfers(dut):
    """The same transfers as in bench.cpp."""
    engine = Engine(dut, random.Random(int(os.environ["SEED"])))
    tensor = engine.samples[0]
    await engine.start()
    await engine.choose()
    await engine.transfer("registers", tensor)
    await engine.fault()
    if engine.built("NARROWING"):
        await engine.transfer("narrowing", engine.samples[1])
    if engine.built("PAGE_LISTS"):
        await engine.transfer("pages", tensor, PAGE_LIST)
    if engine.built("BUFFER_PARITY"):
        await engine.parity()
    await engine.begin_rings(records=False)
    await engine.transfer("rings", tensor)
    if engine.built("WRITE_BACK"):
        await engine.begin_rings(records=True)
        await engine.transfer("write-back", tensor)


def main():
    """Compile the engine and run the test."""
    simulator = os.environ.get("SIM", "verilator")
    seed = os.environ.get("SEED") or str(random.randrange(10**6))
    print(f"{ENGINE}: make cocotb SEED={seed} SIM={simulator}", flush=True)
    options, arguments = [], []
    if simulator == "verilator":
        # The bench sees the ports alone: with all signals public it compiles three times as long.
        options = ["-Wno-lint", "-Wno-UNOPTFLAT", "--x-initial", "unique", "--x-assign", "unique",
                   "--no-public-flat-rw", "--public-depth", "1"]
        arguments = ["+verilator+rand+reset+2", f"+verilator+seed+{int(seed) + 1}"]
        # Optimised it compiles twice as long. Verilator's Python package leaves out how to include what is compiled
        # first.
        os.environ["MAKEFLAGS"] = "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0 CFG_CXXFLAGS_PCH_I=-include"
    folder = HERE / "build_cocotb" / simulator
    sources = [HERE.parent / each for each in (HERE.parent / f"{ENGINE}.f").read_text().split()]
    runner = get_runner(simulator)
    # The Verilog has no delays and no `timescale; Icarus would count in seconds, in which no clock of 10 ns fits.
    runner.build(sources=sources, hdl_toplevel=ENGINE, build_args=options, build_dir=folder, timescale=("1ns", "1ps"))
    found = runner.test(test_module="bench", hdl_toplevel=ENGINE, build_dir=folder, test_dir=HERE, seed=seed,
                        plusargs=arguments, extra_env={"SEED": seed}, results_xml=str(folder / "results.xml"),
                        timescale=("1ns", "1ps"))
    tests, failed = get_results(found)
    print("PASS" if tests and not failed else f"FAIL\nmake cocotb SEED={seed} SIM={simulator} repeats it")
    sys.exit(not tests or failed > 0)


if __name__ == "__main__":
    main()
