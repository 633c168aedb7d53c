"""The README of an engine: its first transfer, programming sequence, instantiation, files and configuration."""

from __future__ import annotations

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.table import pages, with_options
from cdma.hdl.generate.handover.constraints import crossings
from cdma.hdl.generate.verilog import Verilog

__all__ = ["readme"]

_FILES = """\
| file | what it is for |
|---|---|
{verilog}{sram}
| `{name}.json` | resolved configuration, ports, bus interfaces, register map, tool versions |
| `{name}.vlt` | lint waivers, each with its reason |
| `{name}_regs.h` | offsets, masks, codings and status codes for C |
| `cdma_driver.h` | reference driver in C, header only; include `{name}_regs.h` before it |
| `cdma_codec.h`, `cdma_codec.c` | C library that compresses and expands block streams on the host |
| `{name}.rdl` | register map as SystemRDL |
| `{name}.core` | FuseSoC core with a lint target; Vivado gets the XDC, other tools the SDC |
| `{name}.f`, `{name}.sdc` | file list, and timing constraints to start from |
| `{name}_bench/` | with `--bench`: first transfers that run by themselves: `make -C {name}_bench` in C++, \
`make -C {name}_bench cocotb` in Python; its Makefile begins with what each needs |
| `{name}_ip/` | IP for Vivado: add the folder that it is in to `ip_repo_paths` |
| `{name}.xdc` | timing constraints to start from, for Vivado |{crossings}
| `package_{name}.tcl` | has Vivado package the IP anew, from the Verilog |
| `route_{name}.tcl` | has Vivado place and route the engine by itself, for a part and a clock that you name |"""

_CROSSINGS = "\n| `{name}` | for Vivado: limits of the paths between the clocks, which hold inside a design too |"

_SINGLE = "| `{name}.v` | the engine: Verilog-2005 without initial values, tried in Verilator and Icarus Verilog |"
_SPLIT = """\
| `{name}/*.v` | the engine, a file for each of its {modules} modules, `{name}/{name}.v` on top: Verilog-2005 without \
initial values, tried in Verilator, Icarus Verilog and slang |"""
_SRAM = "\n| `{name}_sram.v` | its memories: replace the module's body by your macros |"

_FIRST = """\
A transfer takes four steps. The registers of a channel begin at 0x{offload:x} for offload (device memory to the link,
compressed) and at 0x{prefetch:x} for prefetch (back); offsets are in `{name}_regs.h`.

1. Write the descriptor, sixteen words, to `DESCRIPTOR_0` up to `DESCRIPTOR_15`: what to do, from where, where to, how
   long.
2. Write 1 to `DOORBELL`.
3. Read `COMPLETIONS` until it is not 0, or wait for `irq`.
4. Read `COMPLETION_0` up to `COMPLETION_11`: status 0, bytes, CRC. Write 1 to `COMPLETION_POP`.

`cdma_driver.h` does that, as [below](#programming). See it run, with random memories and every byte compared:

```sh
make -C {name}_bench
```

That folder comes with `cdma generate --bench`; it needs g++ and Verilator, nothing else.

Addresses in device memory are multiples of {block}, addresses at the link multiples of {link}, lengths multiples of the
coding's element. Block k of a transfer goes through lane (device address / {block} + k) modulo {lanes}.

When you connect the ports: beats of a write may be taken while their address still waits, so a memory keeps them until
it has come. The Verilog has no `` `timescale``. Icarus Verilog counts in seconds then: put `+timescale+1ns/1ps` in its
command file."""

_PROGRAM = """\
The two channels, offload and prefetch, work alike and at the same time.

```c
#include "{name}_regs.h"
#include "cdma_driver.h"

static void write_register(void *bus, uint32_t offset, uint32_t value)
{{
    *(volatile uint32_t *)((char *)bus + offset) = value;
}}

static uint32_t read_register(void *bus, uint32_t offset)
{{
    return *(volatile uint32_t *)((char *)bus + offset);
}}

struct cdma engine;
struct cdma_result packed, raw;
uint64_t capacity = 0;
int error = cdma_init(&engine, (void *)BASE, write_register, read_register);
if (!error) {{
    capacity = cdma_capacity(&engine, raw_bytes);   /* suffices whatever the values are */
    error = cdma_offload(&engine, device_address, link_address, raw_bytes, capacity, {coding}, &packed);
}}
if (!error)
    error = cdma_prefetch(&engine, link_address, device_address, packed.bytes, raw_bytes, {coding}, packed.crc,
                          &raw);
if (error)
    puts(cdma_error_text(error));
```"""


def readme(design: Verilog) -> str:
    """Markdown for one engine: first transfer, programming sequence, instantiation, files, configuration."""
    config = design.config
    if not isinstance(config, EngineConfig):
        raise TypeError(f"a README is written for engines, not for {config.name!r}")
    name = design.name
    parameters = "\n".join(f"| `{key}` | {_value(value)} | {config.fields()[key].metadata['help']} |"
                           for key, value in config.as_dict().items() if key not in ("name", "about"))
    sram = _SRAM.format(name=name) if design.sram else ""
    limits = "".join(_CROSSINGS.format(name=each) for each in crossings(design))
    offsets = {page.name: page.offset for page in pages(with_options(config))}
    first = _FIRST.format(name=name, block=config.block_bytes, link=config.link_beat_bytes, lanes=config.lanes,
                          offload=offsets["offload"], prefetch=offsets["prefetch"])
    verilog = (_SPLIT if design.modules else _SINGLE).format(name=name, modules=len(design.modules))
    return "\n\n".join([
        f"# {name}",
        config.about or "A compressing DMA engine.",
        f"## First transfer\n\n{first}",
        f"## Programming\n\n{_PROGRAM.format(name=name, coding=f'CDMA_CODING_{config.codings[-1].upper()}')}",
        f"## Instantiation\n\n```verilog\n{instantiation(design)}\n```",
        f"## Files\n\n{_FILES.format(name=name, verilog=verilog, sram=sram, crossings=limits)}",
        f"## Configuration\n\n| parameter | value | what it sets |\n|---|---|---|\n{parameters}",
    ]) + "\n"


def instantiation(design: Verilog) -> str:
    """The module with every port connected to a net of the same name."""
    ports = [port.name for port in design.ports]
    width = max(map(len, ports))
    return f"{design.name} dma (\n" + ",\n".join(f"    .{port:<{width}} ({port})" for port in ports) + "\n);"


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
