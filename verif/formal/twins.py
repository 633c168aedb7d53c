"""Two copies of a component with the same inputs and different pasts: nothing of the past is seen after a reset."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Fragment, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import Flow

from cdma.verif.formal.harness import Harness, assigned
from cdma.verif.formal.names import names_of
from cdma.verif.formal.proofs.parts import place_after

__all__ = ["Twins"]

_CHANNEL = re.compile(r"(aw|w|b|ar|r)(?!valid$|ready$)\w+")
_CONDITION = re.compile(r"(~?)([\w.$]+?)(?:=(\d+))?")
_EARLIER, _LATER = "earlier", "later"


class Twins:
    """Two copies in a harness. Before the reset each is in any state; from then on both have the same free inputs.

    Every output is asserted to be equal in both, in every cycle. Payloads of streams and channels of AXI are compared
    while their ``valid`` is high; of other outputs ``gates`` says when they mean something. What a memory shows of a
    row that is written in the same cycle is chosen for each copy.

    Parameters
    ----------
    h : Harness
        The harness.
    make : callable
        Makes a copy.
    gates : mapping of str to str, optional
        Outputs, named by their paths with dots, and the conditions under which they are compared: signals inside the
        component or outputs of it, joined by `` & `` and `` | ``, each perhaps with ``~`` before it or ``=NUMBER``
        behind it. A path stands for all that begin with it. Of a beat with ``keep``, bytes that are not kept are not
        compared.
    """

    def __init__(self, h: Harness, make: Callable[[], Any], gates: Mapping[str, str] | None = None) -> None:
        self._h, self._gates = h, gates or {}
        self.copies = tuple(h.add(name, make()) for name in (_EARLIER, _LATER))
        """Both components."""
        self.ports: list[dict[str, Value]] = []
        """Ports of each copy, by their paths."""
        for copy in self.copies:
            self.ports.append({_dotted(path): Value.cast(value) for path, _, value in copy.signature.flatten(copy)})
        first = self.copies[0]
        outputs: list[str] = []
        for path, member, _ in first.signature.flatten(first):
            name = _dotted(path)
            both = self.ports[0][name], self.ports[1][name]
            if member.flow is Flow.Out:
                outputs += self._fields(name, member.shape)
                continue
            given = h.free(len(both[0]), f"given_{_name(name)}")
            h.m.d.comb += [each.eq(given) for each in both]
        self._outputs = outputs
        for name in outputs:
            one, other = (ports[name] & self._kept(ports, name) for ports in self.ports)
            h.check(f"same_{_name(name)}", ~self._gate(name) | (one == other))
        self.registers = {path: (one, self._found(path))
                          for path, one in _registers(h.part(_EARLIER), "")}
        """Pairs of registers, by their paths."""

    def is_output(self, path: str) -> bool:
        """Whether a port is an output."""
        return path in self._outputs

    def _fields(self, name: str, shape: Any) -> list[str]:
        """The fields of an output, each a port of its own; just the output if it is no structure."""
        if not isinstance(shape, data.StructLayout):
            return [name]
        names = []
        for each, field in shape:
            for ports in self.ports:
                ports[f"{name}.{each}"] = ports[name][field.offset:field.offset + field.width]
            names += self._fields(f"{name}.{each}", field.shape)
        return names

    def _found(self, path: str) -> Signal:
        if not hasattr(self, "_of_later"):
            self._of_later = dict(_registers(self._h.part(_LATER), ""))
        return self._of_later[path]

    def _gate(self, name: str) -> Value:
        """When an output is compared."""
        for path, given in self._gates.items():
            if (name + ".").startswith(path + "."):
                return self.condition(given)
        folder, _, last = name.rpartition(".")
        before = f"{folder}." if folder else ""
        channel = _CHANNEL.fullmatch(last)
        for valid in (f"{before}{channel[1]}valid" if channel else "", f"{before}valid", self._valid_above(name)):
            if valid in self.ports[0] and valid != name and not last.endswith("ready"):
                return self.ports[0][valid]
        return Const(1)

    def _kept(self, ports: Mapping[str, Value], name: str) -> Value:
        """Bits of an output that mean something."""
        folder, _, last = name.rpartition(".")
        keep, ends = ports.get(f"{folder}.keep"), ports.get(f"{folder}.last")
        if last != "data" or keep is None or ends is None:
            return Const(-1, len(ports[name]))
        return Cat((bit | ~ends).replicate(8) for bit in keep)

    def _valid_above(self, name: str) -> str:
        parts = name.split(".")
        return ".".join([*parts[:parts.index("payload")], "valid"]) if "payload" in parts else ""

    def condition(self, text: str, copy: int = 0) -> Value:
        """A condition of ``gates`` in one copy."""
        if " | " in text:
            return Cat(self.condition(each, copy) for each in text.split(" | ")).any()
        total: Value = Const(1)
        for each in text.split(" & "):
            found = _CONDITION.fullmatch(each)
            if found is None:
                raise ValueError(f"a condition must be a signal, ~ and a signal, or a signal = a number, not {each!r}")
            negated, path, number = found.groups()
            if path in self.ports[copy]:
                signal = self.ports[copy][path]
            else:
                signal = Value.cast(self._h.inner(f"{(_EARLIER, _LATER)[copy]}.{path}"))
            value = signal.bool() if number is None else signal == int(number)
            total = total & (~value if negated else value)
        return total

    def cleared(self, but: Container[str] = ()) -> None:
        """The invariant that registers with a reset are equal, for proofs by induction; but for some."""
        for path, (one, other) in self.registers.items():
            if not one.reset_less and path not in but:
                self._h.check(f"cleared_{_name(path)}", one == other)

    def loaded(self, conditions: Mapping[str, str]) -> None:
        """Invariants of registers that need not be equal, mostly those without a reset.

        They are equal under a condition, as those of ``gates``; always, if it is empty.
        """
        for path, text in conditions.items():
            one, other = self.registers[path]
            condition = self.condition(text) if text else Const(1)
            self._h.check(f"loaded_{_name(path)}", ~condition | (one == other))

    def buffers(self) -> None:
        """Invariants of the FIFOs of :class:`cdma.hdl.common.fifo.StreamFifo` inside: what is in use of them is
        equal."""
        for path in [path for path in self.registers if path.endswith("fifo.inner_level")]:
            inside, folder = self.registers[path][0], path.removesuffix("inner_level")
            rows = [pair for name, pair in self.registers.items() if name.startswith(f"{folder}storage.row_")]
            produce, consume = (self.registers[folder + name][0] for name in ("produce", "consume"))
            depth, name = len(rows), _name(folder)
            self._h.check(f"{name}_rows_fit", inside <= depth)
            self._h.check(f"{name}_places_fit", (produce < depth) & (consume < depth))
            self._h.check(f"{name}_places", produce == place_after(consume, Mux(inside == depth, 0, inside), depth))
            for number, (one, other) in enumerate(rows):
                behind = Mux(consume > number, number + depth - consume, number - consume)
                self._h.check(f"{name}_row_{number}", (behind >= inside) | (one == other))
            self.loaded({f"{folder}storage.shown_0": f"{folder}r_rdy"})

    def moved(self) -> Value:
        """Some register with a reset is not as it was in the cycle before."""
        state = Cat(one for one, _ in self.registers.values() if not one.reset_less)
        return (self._h.past(state, "state") != state) & self._h.past(Const(1), "later")

    def differ(self) -> Value:
        """Some register without a reset differs: the past is still inside."""
        pairs = [one != other for one, other in self.registers.values() if one.reset_less]
        return Cat(pairs).any() if pairs else Const(0)


def _dotted(path: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in path)


def _name(path: str) -> str:
    return re.sub(r"\W+", "_", path).strip("_").lower()


def _registers(fragment: Fragment, before: str) -> Iterator[tuple[str, Signal]]:
    """Registers of a component and its parts, with names as :meth:`Harness.inner` takes them."""
    clocked = {id(signal) for domain, statements in fragment.statements.items() if domain != "comb"
               for statement in statements for signal in statement._lhs_signals()}
    for name, signal in names_of(assigned(fragment)):
        if id(signal) in clocked:
            yield before + name, signal
    for part, name, _ in fragment.subfragments:
        yield from _registers(part, f"{before}{name}.")
