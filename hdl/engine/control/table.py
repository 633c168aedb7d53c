"""The register map: one table from which the decoder, the C header, SystemRDL and the documentation are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.watch import LIMIT_BITS
from cdma.hdl.engine.control.descriptor import (
    COMPLETION_FIELDS,
    DESCRIPTOR_FIELDS,
    completion_layout,
    descriptor_layout,
)
from cdma.hdl.engine.control.register import (
    Access,
    Field,
    Home,
    Page,
    Register,
    record_registers,
    register_of,
    whole_register,
)
from cdma.hdl.engine.transfer.buffers import LaneMemory

__all__ = [
    "ADDRESS_BITS", "COALESCE_BITS", "COUNTERS", "DIRECTIONS", "ERROR_BITS", "MAGIC", "MEMORIES", "PAGE_BITS", "PORTS",
    "RING_INDEX_BITS", "TIME_BITS", "TIME_LIMIT", "VERSION", "WINDOW_BITS", "pages", "registers", "reserved",
    "with_options",
]

ADDRESS_BITS = 12
"""Bits of a byte address of the register window."""

PAGE_BITS = 8
"""Bits of a byte address within a page."""

MAGIC = 0x414D4463
"""First register: the bytes ``cDMA`` in the order of a little-endian memory."""

VERSION = (2, 5)
"""Of the register map and the descriptors: a change that breaks drivers counts the first number up."""

WINDOW_BITS = 12
"""Bits of an address that windows do not compare: 4 KiB, the largest piece of memory that bursts never leave."""

RING_INDEX_BITS = 16
"""Bits of an index into a ring."""

COALESCE_BITS = 16
"""Bits of the number of records that are reported together."""

TIME_BITS = 24
"""Bits of the number of cycles after which records are reported: 16 ms at 1 GHz."""

ERROR_BITS = 16
"""Bits of a count of errors."""

DIRECTIONS = ("offload", "prefetch")

MEMORIES = {"device": "device memory", "link": "link memory"}
"""The memories that have an address window: the lanes' and the link's."""

PORTS = {"lane_read": "offload", "lane_write": "prefetch", "link_read": "prefetch, descriptors, or page lists",
         "link_write": "offload, or records of completions"}
"""Kinds of AXI master ports, and whose transactions use them."""

TIME_LIMIT = 26
"""Time limit of all ports after reset, as the logarithm of a number of cycles: 2^26 cycles are 67 ms at 1 GHz. Memory
answers within microseconds. For a PCIe device that does not answer, the root complex answers after its completion
timeout, usually 50 ms. A port that is silent for longer is dead; this holds at any clock up to 1.3 GHz."""

COUNTERS = {
    "RAW_BYTES": "Raw bytes of the transfers that succeeded",
    "PACKED_BYTES": "Bytes of their block streams",
    "BUSY_CYCLES": "Cycles in which a descriptor was being processed",
    "LINK_BUSY_CYCLES": "Cycles with a beat of a block stream on the link",
    "MEMORY_STALLS": "Cycles in which a lane waited for its memory controller, summed over all lanes",
    "BUFFER_STALLS": "Cycles in which a lane waited for its buffer (offload: full; prefetch: empty), summed over all "
                     "lanes",
}
"""Counters of a direction, in the order of their registers: name and meaning."""


def _engine(config: EngineConfig) -> Iterator[Register]:
    ro, rw = Access.RO, Access.RW
    yield whole_register(
        "MAGIC", 0x00, ro, "The bytes 'cDMA' in memory order, by which a driver recognises the engine.", MAGIC)
    yield register_of(
        "VERSION", 0x04, ro, "Version of register map and descriptors.",
        Field("MINOR", 0, 16, ro, VERSION[1], "Counted up when something is added."),
        Field("MAJOR", 16, 16, ro, VERSION[0], "Counted up when older drivers no longer work."), home=Home.CONSTANT)
    yield register_of(
        "GEOMETRY", 0x08, ro, "What was built.",
        Field("LANES", 0, 8, ro, config.lanes, "Lanes: one for each memory controller."),
        Field("BEAT_BYTES", 8, 8, ro, config.beat_bytes, "Bytes of a beat at a memory controller."),
        Field("LINK_BEAT_BYTES", 16, 8, ro, config.link_beat_bytes,
              "Bytes of a beat at the link; link addresses are multiples of it."),
        Field("ADDRESS_BITS", 24, 8, ro, config.address_bits, "Bits of an address."), home=Home.CONSTANT)
    yield register_of(
        "SIZES", 0x0C, ro, "What was built.",
        Field("BLOCK_BYTES", 0, 16, ro, config.block_bytes,
              "Raw bytes of a block; addresses in device memory are multiples of it."),
        Field("QUEUE_DEPTH", 16, 8, ro, config.queue_depth,
              "Descriptors that a queue holds; also completions that a queue holds."),
        home=Home.CONSTANT)
    yield whole_register(
        "BUFFER", 0x10, ro, "Packed bytes that a lane's buffer holds, in each direction.", config.buffer_bytes)
    yield register_of(
        "FEATURES", 0x14, ro, "What was built.",
        *(Field(name.upper(), k, 1, ro, name in config.codings, f"The coding {name}, {number:#04x}.")
          for k, (name, number) in enumerate(CODINGS.items())),
        Field("CRC", 9, 1, ro, config.crc, "The CRC-32C of block streams is computed."),
        Field("NARROWING", 10, 1, ro, config.narrowing, "float32 can be rounded to 16 bits."),
        Field("PAGE_LISTS", 11, 1, ro, config.page_lists, "Block streams can be in pages of link memory."),
        Field("ADDRESS_WINDOWS", 12, 1, ro, config.address_windows,
              "Address windows can be set: the registers from DEVICE_BASE_LO to REFUSED are there."),
        Field("ATTRIBUTE_REGISTERS", 13, 1, ro, config.attribute_registers,
              "The registers LANE_ATTRIBUTES and LINK_ATTRIBUTES are there."),
        Field("WRITE_BACK", 14, 1, ro, config.write_back,
              "Completions can be written into rings in link memory: the pages of write-back are there."),
        Field("BUFFER_PARITY", 15, 1, ro, config.buffer_parity,
              "The memories of the lanes have parity: the registers BUFFER_ERRORS and BUFFER_INJECT are there."),
        home=Home.CONSTANT)
    yield register_of(
        "CONTROL", 0x20, Access.W1S, "Commands to the whole engine.",
        Field("SOFT_RESET", 0, 1, Access.W1S, 0,
              "1: abort the running transfers, wait until no AXI transaction is open but those of isolated ports, then "
              "put all registers, queues, rings and counters back to their reset values, but for the address windows "
              "and locked attributes. Isolated ports remain so."))
    yield register_of(
        "STATUS", 0x24, ro, "What the engine is doing.",
        *(Field(f"{name.upper()}_BUSY", k, 1, ro, 0, "A descriptor is being processed, or a page list still read.")
          for k, name in enumerate(DIRECTIONS)),
        *(Field(f"{name.upper()}_BLOCKED", 8 + k, 1, ro, 0,
                "Descriptors wait because the completion queue is full.") for k, name in enumerate(DIRECTIONS)),
        *(Field(f"{port.upper()}_ISOLATED", 16 + k, 1, ro, 0,
                f"1: {'a' if port.startswith('lane') else 'the'} {port.replace('_', ' port for ')}s ({of}) has AXI "
                "transactions open of a transfer that was reported already. Until they end, that transfer's memory may "
                "still be accessed.")
          for k, (port, of) in enumerate(PORTS.items())))
    yield register_of(
        "TIME_LIMIT", 0x28, rw,
        "How long a port may answer nothing before its transfer ends with a TIMEOUT status: at least 2^n cycles, at "
        "most twice as many. 0: for ever; an abort or a soft reset waits for the port then. A write takes effect at "
        "once, also for a port that is silent already.",
        Field("LINK", 0, LIMIT_BITS, rw, TIME_LIMIT, "n of the link's ports."),
        Field("LANES", 8, LIMIT_BITS, rw, TIME_LIMIT, "n of the lanes' ports."))
    for name, offset, access, about in (
            ("IRQ_ENABLE", 0x30, rw, "The interrupt is high while any bit is set both here and in IRQ_STATUS."),
            ("IRQ_STATUS", 0x34, Access.W1C, "Events since the bits were cleared.")):
        yield register_of(name, offset, access, about, *(
            Field(f"{direction.upper()}_{cause}", 4 * k + bit, 1, access, 0, meaning)
            for k, direction in enumerate(DIRECTIONS) for bit, (cause, meaning) in enumerate((
                ("COMPLETION", "A descriptor with the flag 'interrupt' was completed, with any status."),
                ("ERROR", "A descriptor was completed with a status other than OK."),
                ("RING_ERROR", "A descriptor could not be read from the ring; the ring is disabled."),
                *([("WRITE_BACK_ERROR", "A record could not be written to the write-back ring, which is disabled.")]
                  if config.write_back else [])))))
    if config.attribute_registers:
        yield from _attributes(config)
    if config.address_windows:
        yield from _address_windows(config)
    if config.buffer_parity:
        yield from _buffers()


def _attributes(config: EngineConfig) -> Iterator[Register]:
    held = (" After WINDOW_CONTROL.LOCK, every write is refused, and a soft reset does not change it."
            if config.address_windows else "")
    for offset, port, about in ((0x38, "lane", "of the lanes' ports"), (0x3C, "link", "of the link's port")):
        fields = {"cache": (0, 4, "Cacheability: see the page on integration."),
                  "prot": (4, 3, "Protection: bit 0 privileged, bit 1 non-secure, bit 2 instruction."),
                  "qos": (8, 4, "Quality of service: the higher, the more urgent; 0 takes no part."),
                  "user": (16, config.user_bits, "What the system defines.")}
        yield register_of(
            f"{port.upper()}_ATTRIBUTES", offset, Access.RW,
            f"AxCACHE, AxPROT, AxQOS and AxUSER {about}, for reads and writes. A write applies to bursts that begin "
            "after it: write while no descriptor is being processed." + held + " There only with attribute_registers.",
            *(Field(name.upper(), lsb, width, Access.RW, getattr(config, f"{port}_{name}"), meaning)
              for name, (lsb, width, meaning) in fields.items() if width))


def _upper_address(config: EngineConfig) -> Field:
    """The upper half of an address as the field of a register."""
    if config.address_bits > 32:
        return Field("ADDRESS", 0, config.address_bits - 32, Access.RW, 0, "Bits from 32 on.")
    return Field("ADDRESS", 0, 32, Access.RO, 0, "Bits from 32 on: none was built, so writes change nothing.")


def _address_windows(config: EngineConfig) -> Iterator[Register]:
    refused = ("A write is refused while a ring is enabled or STATUS shows a direction as busy, and "
               "always after WINDOW_CONTROL.LOCK.")
    ends = {"base": "First address of the window in {}.",
            "limit": "First address behind the window in {}. 0 in both halves: the window ends with the address space."}
    places = [(memory, end, half) for memory in MEMORIES for end in ends for half in range(2)]
    for number, (memory, end, half) in enumerate(places):
        name, about = f"{memory}_{end}_{('lo', 'hi')[half]}".upper(), f"{ends[end].format(MEMORIES[memory])} {refused}"
        offset = 0x80 + 4 * number
        if half == 0:
            field = Field("ADDRESS", WINDOW_BITS, 32 - WINDOW_BITS, Access.RW, 0,
                          "Bits 31 to 12; the address is a multiple of 4096.")
        else:
            field = _upper_address(config)
        yield register_of(name, offset, Access.RW, f"{about} A soft reset does not change it. "
                        "There only with address_windows.", field)
    yield register_of(
        "WINDOW_CONTROL", 0xA0, Access.W1S,
        "Locks the windows, and LANE_ATTRIBUTES and LINK_ATTRIBUTES where they are built. A soft reset does not unlock "
        "them. There only with address_windows.",
        Field("LOCK", 0, 1, Access.W1S, 0,
              "1: from now on, every write of this register, of bases and limits and of attributes is refused, until "
              "the engine is reset by aresetn."))
    yield register_of(
        "REFUSED", 0xA4, Access.W1C,
        "Writes that were refused since the bits were cleared: each was answered with SLVERR and changed nothing. For "
        "buses that do not report errors of writes. There only with address_windows.",
        Field("ADDRESS_WINDOW", 0, 1, Access.W1C, 0, "A write of a window's base or limit, or of WINDOW_CONTROL."),
        *([Field("ATTRIBUTES", 1, 1, Access.W1C, 0, "A write of LANE_ATTRIBUTES or LINK_ATTRIBUTES after the lock.")]
          if config.attribute_registers else []))


def _memories(first: int) -> str:
    """The memories of a direction, whose numbers begin with this one."""
    return ", ".join(f"{each.value} {each.name}" for each in LaneMemory if each.value & 8 == first)


def _buffers() -> Iterator[Register]:
    """The registers that count errors and inject them."""
    ro, wo = Access.RO, Access.WO
    yield register_of(
        "BUFFER_ERRORS", 0xA8, ro,
        "Errors of parity that were found in memories of the lanes since reset or soft reset; counts stay at 65535. A "
        "lane that finds one stops and is cleared: it counts one for all that it finds until then. There "
        "only with buffer_parity.",
        *(Field(name, ERROR_BITS * number, ERROR_BITS, ro, 0, f"Found in lanes of {name.lower()}.")
          for number, name in enumerate(("OFFLOAD", "PREFETCH"))))
    yield register_of(
        "BUFFER_INJECT", 0xAC, wo,
        "Injects one error, for a test: of the row that is read next from a memory of a lane, a bit is changed. It "
        "waits for that row, through a soft reset too; when a transfer of the direction fails before, it is dropped. "
        "There only with buffer_parity.",
        Field("LANE", 0, 4, wo, 0, "Number of the lane; one that is not there: no effect."),
        Field("MEMORY", 8, 4, wo, 0, "The memory; one that was not built: no effect. Of offload: "
              f"{_memories(0)}. Of prefetch: {_memories(8)}.", LaneMemory),
        Field("INJECT", 31, 1, wo, 0, "1: inject."))


def _channel(config: EngineConfig) -> Iterator[Register]:
    ro, rw, wo = Access.RO, Access.RW, Access.WO
    yield from record_registers("DESCRIPTOR", 0x00, rw, descriptor_layout(), DESCRIPTOR_FIELDS,
                       "the descriptor that DOORBELL pushes", Home.WINDOW)
    yield from record_registers("COMPLETION", 0x40, ro, completion_layout(), COMPLETION_FIELDS,
                       "the oldest completion; 0 while there is none", Home.COMPLETION)
    yield register_of(
        "DOORBELL", 0x80, wo, "Pushes the descriptor window into the queue. Refused while no place is free.",
        Field("PUSH", 0, 1, wo, 0, "1: push. The window keeps its content."))
    yield register_of(
        "QUEUE", 0x84, ro, "Descriptors that wait.",
        Field("LEVEL", 0, 8, ro, 0, "Descriptors in the queue; each leaves it after it was checked."),
        Field("FREE", 8, 8, ro, config.queue_depth,
              "Free places. An entry of the ring that is being read has reserved its place already."))
    yield register_of(
        "COMPLETIONS", 0x88, ro, "Completions that wait.",
        Field("COUNT", 0, 8, ro, 0, "Completions in the queue; 0 while a write-back ring takes them. No descriptor is "
              "started while the queue is full."))
    yield register_of(
        "COMPLETION_POP", 0x8C, wo, "Removes the oldest completion. Refused while there is none.",
        Field("POP", 0, 1, wo, 0, "1: remove."))
    yield register_of(
        "ABORT", 0x90, Access.W1S, "Ends the oldest transfer that runs; does nothing while none runs.",
        Field("ABORT", 0, 1, Access.W1S, 0,
              "1: abort. The completion has the status ABORTED, unless the transfer was already done. Descriptors that "
              "wait in the queue are not affected."))
    yield register_of(
        "COUNTER_CONTROL", 0x94, wo, "Commands to the counters below, whose registers show the last snapshot.",
        Field("SNAPSHOT", 0, 1, wo, 0, "1: take a snapshot of this direction's counters."),
        Field("CLEAR", 1, 1, wo, 0,
              "1: set the counters to zero, after the snapshot if one is taken with the same write."))
    yield register_of(
        "REFUSED", 0x98, Access.W1C,
        "Writes that were refused since the bits were cleared: each was answered with SLVERR and changed nothing. For "
        "buses that do not report errors of writes.",
        Field("DOORBELL", 0, 1, Access.W1C, 0,
              "A doorbell while no place was free: its descriptor was not taken."),
        Field("COMPLETION_POP", 1, 1, Access.W1C, 0, "A removal while there was no completion."),
        Field("RING", 2, 1, Access.W1C, 0,
              "A write of a ring register: base or size while RING_CONTROL.ENABLE reads 1, a size that is not allowed, "
              "a tail that is not below the size, or an enable of a ring that ends beyond the last address or is not "
              "inside the link's window."),
        *([Field("WRITE_BACK", 3, 1, Access.W1C, 0,
                 "The same of the write-back ring, with its head. There only with write_back.")]
          if config.write_back else []))
    yield from _ring_base(config, "descriptor", "RING_", 0xA0)
    yield register_of(
        "RING_SIZE", 0xA8, rw,
        "A write empties the ring: RING_HEAD and RING_TAIL become 0. It is refused while RING_CONTROL.ENABLE reads 1, "
        "and for a size that is not allowed.",
        Field("ENTRIES", 0, RING_INDEX_BITS + 1, rw, 2, "Descriptors of 64 bytes: a power of two from 2 to 65536."))
    yield register_of(
        "RING_TAIL", 0xAC, rw, "Written by the driver. An index that is not below the size is refused.",
        Field("INDEX", 0, RING_INDEX_BITS, rw, 0,
              "The entry that the driver writes next. The ring is empty when it equals RING_HEAD."))
    yield register_of(
        "RING_HEAD", 0xB0, ro, "Counted by the engine.",
        Field("INDEX", 0, RING_INDEX_BITS, ro, 0,
              "The entry that the engine reads next. The driver may write the entries before it again."))
    yield register_of(
        "RING_CONTROL", 0xB4, rw,
        "Lets the engine read the ring. Enabling is refused when the ring ends beyond the last address, or is not "
        "inside the link's window.",
        Field("ENABLE", 0, 1, rw, 0,
              "1: entries from head to tail are read whenever the queue has a free place. After a write of 0 it still "
              "reads 1 while an entry is being read; wait until it reads 0 before base or size are written. It becomes "
              "0 when a read fails; when it is set again, that entry is read again."))
    for number, (name, about) in enumerate(COUNTERS.items()):
        for half, part in enumerate(("LO", "HI")):
            yield whole_register(f"{name}_{part}", 0xC0 + 8 * number + 4 * half, ro,
                         f"{about}: bits {32 * half + 31} to {32 * half} of the snapshot.", home=Home.SNAPSHOT)


def _ring_base(config: EngineConfig, kind: str, prefix: str, offset: int) -> Iterator[Register]:
    about = f"Link address of the {kind} ring. A write is refused while {prefix}CONTROL.ENABLE reads 1."
    yield register_of(f"{prefix}BASE_LO", offset, Access.RW, about, Field(
        "ADDRESS", 6, 26, Access.RW, 0, "Bits 31 to 6; the ring begins at a multiple of 64."))
    yield register_of(f"{prefix}BASE_HI", offset + 4, Access.RW, about, _upper_address(config))


def _write_back(config: EngineConfig) -> Iterator[Register]:
    """The registers of a direction's write-back ring."""
    ro, rw = Access.RO, Access.RW
    yield from _ring_base(config, "write-back", "", 0x00)
    yield register_of(
        "SIZE", 0x08, rw,
        "A write empties the ring: HEAD and TAIL become 0, the phase 1. It is refused while CONTROL.ENABLE reads 1, "
        "and for a size that is not allowed.",
        Field("RECORDS", 0, RING_INDEX_BITS + 1, rw, 2, "Records of 64 bytes: a power of two from 2 to 65536."))
    yield register_of(
        "HEAD", 0x0C, rw, "Written by the driver. An index that is not below the size is refused.",
        Field("INDEX", 0, RING_INDEX_BITS, rw, 0,
              "The record that the driver reads next. The engine may write the records before it again."))
    yield register_of(
        "TAIL", 0x10, ro, "Counted by the engine.",
        Field("INDEX", 0, RING_INDEX_BITS, ro, 0,
              "The record that the engine writes next. The ring is empty when it equals HEAD, and full when HEAD is "
              "the index after it."))
    yield register_of(
        "CONTROL", 0x14, rw,
        "Lets the engine write the ring. Enabling is refused when the ring ends beyond the last address, or is not "
        "inside the link's window.",
        Field("ENABLE", 0, 1, rw, 0,
              "1: completions are written to the ring, and are not in the register window. After a write of 0 it still "
              "reads 1 while a record is being written. It becomes 0 when a write fails: the completion is in the "
              "register window then."))
    yield register_of(
        "STATUS", 0x18, ro, "What the ring is doing.",
        Field("WAITING", 0, 8, ro, 0, "Completions in the queue. No descriptor is started while it is full."),
        Field("PHASE", 16, 1, ro, 1, "Phase of the record that is written next."),
        Field("FULL", 17, 1, ro, 0, "No place is free: HEAD is the index after TAIL."))
    yield register_of(
        "COALESCE", 0x1C, rw, "When IRQ_STATUS gets the completion bit.",
        Field("COUNT", 0, COALESCE_BITS, rw, 1,
              "As soon as so many records are written whose descriptors have the flag 'interrupt'; 0 is taken as 1."))
    yield register_of(
        "TIME", 0x20, rw, "When IRQ_STATUS gets the completion bit at the latest.",
        Field("CYCLES", 0, TIME_BITS, rw, 0,
              "So many cycles after the first such record that was not reported; 0: however long it takes. A write "
              "applies to times that begin after it."))


def with_options(config: EngineConfig) -> EngineConfig:
    """The configuration with everything that adds registers: offsets do not depend on what was built."""
    return config.replace(address_windows=True, attribute_registers=True, user_bits=16, write_back=True,
                          buffer_parity=True)


def pages(config: EngineConfig) -> tuple[Page, ...]:
    """The register map: what concerns the whole engine, and a channel for each direction."""
    channel = tuple(_channel(config))
    write_back = tuple(_write_back(config)) if config.write_back else ()
    return (
        Page("engine", 0x000, "The whole engine", tuple(_engine(config))),
        Page("offload", 0x100, "Channel from device memory to the link", channel),
        Page("prefetch", 0x200, "Channel from the link to device memory", channel),
        *(Page(f"{name}_write_back", 0x300 + 0x100 * number, f"Write-back ring of {name}", write_back)
          for number, name in enumerate(DIRECTIONS) if config.write_back),
    )


def registers(config: EngineConfig) -> tuple[Register, ...]:
    """All registers with their offsets in the whole window; those of a channel carry its name: OFFLOAD_QUEUE."""
    return tuple(
        register if page.name == "engine" else
        replace(register, name=f"{page.name.upper()}_{register.name}", offset=page.offset + register.offset)
        for page in pages(config) for register in page.registers)


def reserved(table: Iterable[Register]) -> tuple[int, ...]:
    """Offsets of the places that make 8 bytes with a register and hold none: they read 0 and ignore writes."""
    offsets = {register.offset for register in table}
    return tuple(sorted({offset ^ 4 for offset in offsets} - offsets))
