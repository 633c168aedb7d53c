"""Generated Verilog taken apart: its modules, a part of the tree by itself, and the memories in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cdma.hdl.config import catalog
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.generate.interfaces import Port
from cdma.hdl.generate.verilog import emit
from cdma.synth.tools.yosys import Progress, report

__all__ = ["Design", "Macro"]

_MODULE = re.compile(r"^module (\\?)(\S+?) ?\(.*?^endmodule\n", re.MULTILINE | re.DOTALL)
_INSTANCE = re.compile(r"^  \\?(\S+)( +\\?(\S+) +\()$", re.MULTILINE)
_MEMORY = re.compile(r"^ *reg \[(\d+):0\] \S+ ?\[(\d+):0\];$", re.MULTILINE)
# Two spaces: inputs of functions are indented by more.
_PORT = re.compile(r"^  (input|output|inout) (?:\[(\d+):0\] )?\\?(\S+?) ?;\n", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Macro:
    """A memory that is not built of registers: words, and bits of each."""

    words: int
    width: int

    @property
    def bits(self) -> int:
        """Of all words."""
        return self.words * self.width

    @property
    def cell(self) -> str:
        """Name of the cell that stands for it in a netlist."""
        return f"memory_{self.words}x{self.width}"


class Design:
    """A design in the Verilog that :func:`cdma.hdl.generate.verilog.emit` writes.

    Modules that are instantiated several times, as lanes, are copied here: each instance has a module of its own, named
    by its path. A part of one lane can then be cut out, and stay in the others.

    Parameters
    ----------
    verilog : str
        The text.
    top : str
        Its top module.
    interface : sequence of Port
        The ports of the top module in the order in which they were made, where that is known.
    """

    def __init__(self, verilog: str, top: str, interface: Sequence[Port] = ()) -> None:
        self.top, self.text, self.interface = top, verilog, interface
        written = {match[2]: match[0] for match in _MODULE.finditer(verilog)}
        self._modules: dict[str, str] = {}
        self._children: dict[str, list[str]] = {}
        self._add(top, top, written)

    @classmethod
    def of(cls, config: catalog.Design | Design, progress: Progress | None = None) -> Design:
        """What is generated for a configuration; a design stays what it is."""
        if isinstance(config, Design):
            return config
        report(progress, f"generating {config.name}")
        # Memories count as macros in any case; only inferred ones can be separated from the logic.
        made = emit(config.replace(memories="inferred") if isinstance(config, EngineConfig) else config)
        return cls(made.text, config.name, made.ports)

    def paths(self) -> dict[str, str]:
        """Name of every module by its path below the top, without the numbers that keep names apart."""
        return {re.sub(r"\$\d+", "", name.removeprefix(self.top).removeprefix(".")): name for name in self._modules}

    def part(self, root: str, cut: Collection[str], black_boxes: bool = True) -> str:
        """Verilog of a module and of all below it; modules in ``cut`` are left as black boxes, or not at all."""
        if root == self.top and not cut:
            return self.text
        left = {name: f"(* blackbox *)\n{_stub(self._modules[name])}" * black_boxes for name in self.outside(root, cut)}
        return "".join(left.get(name, self._modules[name]) for name in self._below(root, cut))

    def ports(self, name: str) -> tuple[Port, ...]:
        """Ports of a module, in the order of their declarations."""
        return tuple(Port(port, direction, int(high or 0) + 1)
                     for direction, high, port in _PORT.findall(self._modules[name]))

    def outside(self, root: str, cut: Collection[str]) -> list[str]:
        """The modules that :meth:`part` leaves as black boxes, each once."""
        return sorted({name for name in self._below(root, cut) if name in cut and name != root})

    def macros(self, root: str, cut: Collection[str], least_bits: int) -> Counter[Macro]:
        """Memories of at least so many bits in a part, and how many there are of each size."""
        found: Counter[Macro] = Counter()
        for name in self._below(root, cut):
            if name == root or name not in cut:
                for width, words in _MEMORY.findall(self._modules[name]):
                    macro = Macro(int(words) + 1, int(width) + 1)
                    if macro.bits >= least_bits:
                        found[macro] += 1
        return found

    def _add(self, name: str, module: str, written: Mapping[str, str]) -> None:
        """Adds an instance of a module of the text, and all below it."""
        self._modules[name] = ""
        children = self._children[name] = []

        def instance(match: re.Match[str]) -> str:
            if match[1] not in written:
                return match[0]
            child = f"{name}.{match[3]}"
            self._add(child, match[1], written)
            children.append(child)
            return f"  \\{child}{match[2]}"

        text = re.sub(rf"^module \\?{re.escape(module)} ?", lambda _: f"module \\{name} ", written[module])
        self._modules[name] = _INSTANCE.sub(instance, text)

    def _below(self, root: str, cut: Collection[str]) -> Iterator[str]:
        yield root
        for child in self._children[root]:
            if child in cut:
                yield child
            else:
                yield from self._below(child, cut)


def _stub(module: str) -> str:
    head = module[:module.index(");\n") + 3]
    return head + "".join(match[0] for match in _PORT.finditer(module)) + "endmodule\n"
