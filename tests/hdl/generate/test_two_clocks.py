"""The Verilog of a link with a clock of its own: what crosses, where, and that the constraints name all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Fragment, Module
from amaranth.hdl._mem import MemoryInstance
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.golden.c.library import sources
from cdma.hdl.common.modules import port_values
from cdma.hdl.engine.axi.crossing import AxiCrossing
from cdma.hdl.engine.axi.signature import axi_full
from cdma.hdl.engine.engine import Engine
from cdma.hdl.generate.backend import verilog_text
from cdma.hdl.generate.handover.files import files
from cdma.hdl.generate.split.modules import split_modules
from cdma.hdl.generate.verilog import Verilog, emit
from cdma.synth.tools.yosys import find
from tests.hdl.generate.designs import TWO_CLOCKS, described
from tests.hdl.generate.handover.test_vivado import lines
from tests.hdl.generate.unassigned import unassigned
from tests.lint import lint

_CHANNELS = ("ar", "aw", "w", "r", "b")
_CLOCKS = ("aclk", "link_aclk")


class _Top(wiring.Component):
    """A crossing with both clocks, as in the engine."""

    def __init__(self, whole: int) -> None:
        port = axi_full(32, 16, 3)
        self._whole = whole
        super().__init__({"aclk": In(1), "aresetn": In(1), "link_aclk": In(1), "link_aresetn": In(1), "i": In(port),
                          "o": Out(port)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name, clock, reset in (("sync", self.aclk, self.aresetn), ("link", self.link_aclk, self.link_aresetn)):
            domain = ClockDomain(name)
            m.domains += domain
            m.d.comb += [domain.clk.eq(clock), domain.rst.eq(~reset)]
        m.submodules.crossing = crossing = AxiCrossing(32, 16, 4, 32, 3, self._whole)
        wiring.connect(m, wiring.flipped(self.i), crossing.i)
        wiring.connect(m, crossing.o, wiring.flipped(self.o))
        return m


class _Netlist:
    """A flat netlist of Yosys: which register, by the name of its net, has which clock, and what leads to it.

    Memories are registers here: those of a row.
    """

    def __init__(self, text: str) -> None:
        script = ("read_verilog top.v\nhierarchy -top top\nproc\nflatten\nopt_clean\nmemory_map\nopt_clean\n"
                  "simplemap\nopt_clean\nwrite_json top.json\n")
        (found,) = find().run(script, {"top.v": text}, ["top.json"], "two clocks").values()
        module = json.loads(found)["modules"]["top"]
        names: dict[int, list[str]] = {}
        for name, net in module["netnames"].items():
            for bit in net["bits"]:
                names.setdefault(bit, []).append(name)
        clocks = {bit: clock for clock in _CLOCKS for bit in module["ports"][clock]["bits"]}
        self.names = names
        self.clock: dict[int, str] = {}
        self._inputs: dict[int, tuple[int, ...]] = {}
        self._registers: dict[int, tuple[int, ...]] = {}
        for cell in module["cells"].values():
            pins = cell["connections"]
            if "dff" in cell["type"].lower():
                (output,), (clock,) = pins["Q"], pins["C"]
                self.clock[output] = clocks[clock]
                self._registers[output] = tuple(bit for pin, bits in pins.items() if pin not in ("Q", "C")
                                                for bit in bits)
            elif cell["type"] != "$scopeinfo":
                inputs = tuple(bit for pin, bits in pins.items() if pin != "Y" for bit in bits)
                self._inputs |= dict.fromkeys(pins["Y"], inputs)
        self.ports = {bit: name for name, port in module["ports"].items() for bit in port["bits"]}

    def _from(self, bits: tuple[Any, ...]) -> Iterator[int]:
        """Registers and ports that lead to some bits."""
        seen: set[Any] = set()
        left = list(bits)
        while left:
            bit = left.pop()
            if bit in seen or isinstance(bit, str):
                continue
            seen.add(bit)
            if bit in self.clock or bit not in self._inputs:
                yield bit
            else:
                left += self._inputs[bit]

    def crossings(self) -> set[tuple[str, str]]:
        """Names of registers with the register or port of the other clock that leads to them."""
        found = set()
        for bit, from_bits in self._registers.items():
            for source in self._from(from_bits):
                clock = self.clock.get(source)
                if clock is None and self.ports.get(source) == "link_aresetn":
                    clock = "link_aclk"
                if clock not in (None, self.clock[bit]):
                    found.add((self._name(bit), self._name(source)))
        return found

    def _name(self, bit: int) -> str:
        """The name that says where it is and what it is: of a register, its own."""
        kinds = ("stage0", "stage1", "gray", "row", "rows")
        own = [re.sub(r"\\|\[\d+\]$", "", name) for name in self.names.get(bit, [])]
        return min(own, key=lambda name: (name.rpartition(".")[2] not in kinds, -name.count("."), name))


@pytest.mark.parametrize("whole", [0, 32])
def test_lint(whole: int, tmp_path: Path) -> None:
    lint("top", verilog_text(_Top(whole), "top"), tmp_path)


@pytest.mark.parametrize("whole", [0, 32])
def test_only_synchronisers_and_rows_cross(whole: int) -> None:
    """Gray codes and levels of the other clock lead to the first register of a synchroniser and to no other, and rows
    to the register that takes them."""
    found = _Netlist(verilog_text(_Top(whole), "top")).crossings()
    levels = {name for name, _ in found if name.startswith("crossing.resets.")}
    assert levels == {f"crossing.resets.{level}.stage0" for level in ("asked", "opened", "was_lost", "in_reset")}
    assert {name: source for name, source in found if name.endswith("stage0") and name not in levels} == {
        f"crossing.{channel}.{receiver}.stage0": f"crossing.{channel}.{sender}.gray"
        for channel in _CHANNELS for sender, receiver in (("written", "to_read"), ("taken", "to_write"))}
    rest = {name for name, _ in found if not name.endswith("stage0")}
    shallow = {channel for channel in _CHANNELS if not (whole and channel == "w")}
    assert {f"crossing.{channel}.out.row" for channel in shallow} <= rest
    assert {name.split(".")[1] for name in rest - {f"crossing.{channel}.out.row" for channel in shallow}} == (
        {"w"} if whole else set())


@pytest.fixture(scope="module")
def engine() -> Verilog:
    return emit(TWO_CLOCKS)


def test_only_the_crossing_has_the_other_clock(engine: Verilog) -> None:
    modules = re.findall(r"^module \\?(\S+) .*?^endmodule", engine.text, re.MULTILINE | re.DOTALL)
    texts = dict(zip(modules, re.split(r"^endmodule$", engine.text, flags=re.MULTILINE), strict=False))
    with_link = {name for name, text in texts.items() if re.search(r"posedge link_clk|posedge link_aclk", text)}
    assert with_link and all(name.startswith("two_clocks.crossing") for name in with_link)
    assert set(re.findall(r"always @\((\w+ \S+?)\)", engine.text)) == {"posedge clk", "posedge link_clk"}
    assert [port.name for port in engine.ports[:4]] == ["aclk", "aresetn", "link_aclk", "link_aresetn"]
    assert [*unassigned(Fragment.get(Engine(TWO_CLOCKS), None))] == []


def _registers(text: str, top: str) -> Mapping[str, set[str]]:
    """Names of the registers and memories of each instance, by its path in the form that constraints use."""
    modules = {each[1]: each[0] for each in re.finditer(r"^module \\?(\S+?) ?\(.*?^endmodule", text, re.M | re.S)}
    found, left = {}, [("", top)]
    while left:
        path, module = left.pop()
        found[path] = set(re.findall(r"^  (?:output )?reg (?:\[\d+:0\] )?(\w+)(?: \[\d+:0\])?[;,]?$", modules[module],
                                     re.M))
        left += [(f"{path}{name}/", kind) for kind, name in re.findall(r"^  \\?(\S+) +\\?(\S+) +\($", modules[module],
                                                                       re.M) if kind in modules]
    return found


@pytest.mark.parametrize("way", ["single", "split"])
def test_constraints_name_what_is_in_the_verilog(way: str) -> None:
    top = _Top(0)
    registers = _registers(verilog_text(top, "top") if way == "single" else "\n".join(
        split_modules(Fragment.get(top, None), "top", port_values(top)).values()), "top")
    found: set[tuple[str, ...]] = set()
    for line in lines(files(described(TWO_CLOCKS), sources())["two_clocks_crossings.xdc"]):
        assert line.startswith(("set_max_delay -datapath_only 5.000 -from ", "set_false_path -to "))
        cells = []
        # Of two patterns, the second is for block RAM: see the next test.
        for path, name in re.findall(r"\[get_cells (?:-quiet {)?([\w/]+/)(\w+)_reg\*", line):
            assert name in registers[path], f"{path} has no register {name}"
            cells.append(f"{path}{name}".replace("/", "."))
        found.add(tuple(cells))
    levels = {(f"crossing.resets.{level}.stage0",) for level in ("asked", "opened", "was_lost", "in_reset")}
    codes = {(f"crossing.{channel}.{sender}.gray", f"crossing.{channel}.{receiver}.stage0")
             for channel in _CHANNELS for sender, receiver in (("written", "to_read"), ("taken", "to_write"))}
    rows = {(f"crossing.{channel}.rows", f"crossing.{channel}.out.row") for channel in _CHANNELS}
    assert found == levels | codes | rows


def _parts(fragment: Fragment, path: str = "") -> Iterator[tuple[str, Fragment]]:
    """A fragment and those in it, with their paths."""
    yield path, fragment
    for inside, name, *_ in fragment.subfragments:
        yield from _parts(inside, f"{path}/{name}".lstrip("/"))


def _domains(fragment: Fragment) -> set[str]:
    """The clock domains of registers and memories of a fragment and of those in it."""
    found = set()
    for _, part in _parts(fragment):
        ports = (*part._write_ports, *part._read_ports) if isinstance(part, MemoryInstance) else ()
        found |= {*part.statements, *(port._domain for port in ports)}
    return found - {"comb"}


@pytest.mark.parametrize(("safe_writes", "burst_beats", "other"), [*product(
    (False, True), (16, 32, 256), (False, True))])
def test_every_memory_between_clocks_is_constrained(safe_writes: bool, burst_beats: int, other: bool) -> None:
    """With limits from its rows to the register that takes them: in `out`, or behind its read port."""
    config = TWO_CLOCKS.replace(safe_writes=safe_writes, burst_beats=burst_beats, write_back=other, page_lists=other,
                                attribute_registers=other, link_read_ids=4 if other else 1)
    limits = [re.findall(r"\[get_cells (?:-quiet )?{?([^\]}]+)", line)
              for line in lines(files(described(config), sources())["two_clocks_crossings.xdc"])]
    parts = dict(_parts(Fragment.get(Engine(config), None)))
    between = {}
    for path, part in parts.items():
        place, _, name = path.rpartition("/")
        if isinstance(part, MemoryInstance) and len(_domains(parts[place])) > 1 and place:
            reads, = part._read_ports
            between[place] = reads._domain
            taker = f"{place}/out/row_reg*" if reads._domain == "comb" else f"{place}/*_reg*"
            assert [to for here, *to in limits if here == f"{place}/{name}_reg*" and taker in to[0].split()], place
            assert (f"{place}/out" in parts) == (reads._domain == "comb")
    deep = safe_writes and burst_beats > 16
    assert between == {f"crossing/{each}": "link" if deep and each == "w" else "comb" for each in _CHANNELS}


def test_constraints_of_the_clocks() -> None:
    written = files(described(TWO_CLOCKS), sources())
    clocks = [line for line in lines(written["two_clocks.xdc"]) if line.startswith("create_clock")]
    assert clocks == [f"create_clock -name {name} -period 5.000 [get_ports {name}]" for name in _CLOCKS]
    assert "$" not in written["two_clocks.xdc"] + written["two_clocks_crossings.xdc"]
    limits = ("set_max_delay -ignore_clock_latency $crossing", "set_false_path -hold")
    between = {line for line in lines(written["two_clocks.sdc"]) if line.startswith(("set_max", "set_false"))}
    assert between == {f"{limit} -from [get_clocks {one}] -to [get_clocks {other}]"
                       for one, other in (_CLOCKS, _CLOCKS[::-1]) for limit in limits}


def test_the_buses_have_their_clocks() -> None:
    found = {each.name: each.parameters for each in described(TWO_CLOCKS).interfaces}
    assert found["aclk"] == {"ASSOCIATED_BUSIF": "s_axil:m_axi_lane0", "ASSOCIATED_RESET": "aresetn"}
    assert found["link_aclk"] == {"ASSOCIATED_BUSIF": "m_axi_link", "ASSOCIATED_RESET": "link_aresetn"}


def test_an_ip_has_the_constraints() -> None:
    written = files(described(TWO_CLOCKS), sources())
    assert "../two_clocks_crossings.xdc" in written["two_clocks_ip/component.xml"]
    assert "two_clocks_crossings.xdc" in written["package_two_clocks.tcl"]
    assert "read_xdc [file join $folder two_clocks_crossings.xdc]\n" in written["route_two_clocks.tcl"]
    assert "foreach clock {aclk link_aclk} {" in written["route_two_clocks.tcl"]
    assert "      - two_clocks.xdc\n      - two_clocks_crossings.xdc\n" in written["two_clocks.core"]
    assert "`two_clocks_crossings.xdc`" in written["two_clocks_README.md"]
    assert not any("crossings" in name for name in files(described(TWO_CLOCKS.replace(link_clock="shared")), sources()))
