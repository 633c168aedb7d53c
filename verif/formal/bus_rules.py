"""The rules of AXI around a component in a harness; what they remember is there for invariants."""

from __future__ import annotations

import re
from typing import Any

from amaranth.hdl import Const, Instance, ResetSignal, Signal, Value
from amaranth.utils import ceil_log2

from cdma.verif.formal.harness import Harness
from cdma.verif.rules.catalogue import source
from cdma.verif.rules.instances import pins_of

__all__ = ["Rules", "lite_rules", "read_rules", "stream_rules", "write_rules"]

ASSUMED, ASSERTED, OFF = 0, 1, 2



class Rules:
    """An instance of a rule module in a harness.

    Registers of the module that are shown are attributes of this object. Yosys checks the rules at clock edges, so
    they are looked at one cycle later than assertions of the harness: one of these that needs a rule which is assumed
    must be about registers.

    Parameters
    ----------
    h : Harness
        The harness.
    file : str
        The file of the rules.
    name : str
        Of the instance: names of rules begin with it.
    parameters : dict of str to int
        Of the module.
    signals : dict of str to Value
        Of the port; those that are missing are 0.
    shown : dict of str to int
        Registers of the module, and their bits.
    """

    def __init__(self, h: Harness, file: str, name: str, parameters: dict[str, int], signals: dict[str, Any],
                 shown: dict[str, int]) -> None:
        text = source(file)
        self._shown = {each: Signal(bits, name=f"{name}_{each}") for each, bits in shown.items()}
        module = f"{name}_module"
        outputs = "".join(f",\n    output wire [{bits - 1}:0] shows_{each}" for each, bits in shown.items())
        assigned = "".join(f"    assign shows_{each} = {each};\n" for each in shown)
        text = re.sub(r"\n\);\n", f"{outputs}\n);\n", text, count=1)
        text = re.sub(r"^endmodule", f"{assigned}endmodule", text, count=1, flags=re.MULTILINE)
        text = re.sub(r"^module \w+", f"module {module}", text, count=1, flags=re.MULTILINE)
        h.verilog.append(text)
        given: dict[str, Any] = {"aclk": h.clock, "aresetn": ~ResetSignal(), **signals}
        h.m.submodules[name] = Instance(
            module, *(("p", parameter, value) for parameter, value in parameters.items()),
            *(("i", port, Value.cast(given.get(port, Const(0, 1)))) for port in pins_of(file, signals)),
            *(("o", f"shows_{each}", signal) for each, signal in self._shown.items()))

    def __getattr__(self, name: str) -> Signal:
        try:
            return self.__dict__["_shown"][name]
        except KeyError:
            raise AttributeError(f"the rules show no {name}") from None


def _ports(h: Harness, file: str, bus: Any, channels: dict[str, str], outstanding: int, manager: int,
           subordinate: int, widths: dict[str, int], shown: dict[str, int]) -> Rules:
    """The rules of a file of AXI at a port: its channels, each with the fields that it has beside valid and ready."""
    signals = {f"{channel}{each}": Value.cast(getattr(bus, f"{channel}{each}")) for channel, fields in channels.items()
               for each in (*fields.split(), "valid", "ready")}
    return Rules(h, f"axi4_{file}.v", file, {
        **widths, "MAX_OUTSTANDING": outstanding, "ASSERT_MANAGER": manager, "ASSERT_SUBORDINATE": subordinate,
    }, signals, {"was_reset": 1, **shown})


_REQUEST = "id addr len size burst"


def read_rules(h: Harness, axi: Any, outstanding: int) -> Rules:
    """The rules of AXI4's read channels at the port of a manager, of which at most ``outstanding`` reads are open."""
    address, data, bits = len(axi.araddr), len(axi.rdata), len(axi.arid)
    return _ports(h, "read", axi, {"ar": _REQUEST, "r": "id data resp last"}, outstanding, ASSERTED, ASSUMED,
                  {"ADDR_WIDTH": address, "DATA_WIDTH": data, "ID_WIDTH": bits},
                  {"ar_waited": 1, "ar_was": bits + address + 30, "reads": ceil_log2(outstanding + 2),
                   "open": outstanding * (bits + 9)})


def write_rules(h: Harness, axi: Any, outstanding: int) -> Rules:
    """The rules of AXI4's write channels at the port of a manager, of which at most ``outstanding`` writes are open."""
    address, data, bits, count = len(axi.awaddr), len(axi.wdata), len(axi.awid), ceil_log2(outstanding + 2)
    return _ports(h, "write", axi, {"aw": _REQUEST, "w": "data strb last", "b": "id resp"}, outstanding, ASSERTED,
                  ASSUMED, {"ADDR_WIDTH": address, "DATA_WIDTH": data, "ID_WIDTH": bits},
                  {"aw_waited": 1, "aw_was": bits + address + 30, "w_waited": 1, "w_was": data + data // 8 + 2,
                   "addresses": count, "bursts": count, "beat": 9, "open": outstanding * (bits + 21)})


def lite_rules(h: Harness, bus: Any, outstanding: int) -> Rules:
    """The rules of AXI4-Lite at the port of a subordinate, of which at most so many reads, and writes, are open."""
    count = ceil_log2(outstanding + 2)
    return _ports(h, "lite", bus, {"aw": "addr prot", "w": "data strb", "b": "resp", "ar": "addr prot",
                                   "r": "data resp"}, outstanding, ASSUMED, ASSERTED,
                  {"ADDR_WIDTH": len(bus.awaddr), "DATA_WIDTH": len(bus.wdata)},
                  {"addresses": count, "words": count, "reads": count, "b_waited": 1, "b_was": 2, "r_waited": 1,
                   "r_was": len(bus.rdata) + 2})


def stream_rules(h: Harness, stream: Any, manager: int, user: Value, *, no_empty: bool, name: str) -> Rules:
    """The rules of AXI4-Stream, with contiguous bytes, at a stream of beats with data, keep and last."""
    payload = stream.payload
    return Rules(h, "axi4_stream.v", name, {
        "DATA_WIDTH": 8 * len(payload.keep), "USER_WIDTH": len(user), "NO_EMPTY": int(no_empty), "CONTIGUOUS": 1,
        "ASSERT_MANAGER": manager, "ASSERT_SUBORDINATE": OFF,
    }, {
        "tdata": payload.data, "tkeep": payload.keep, "tstrb": payload.keep, "tlast": payload.last,
        "tuser": user, "tvalid": stream.valid, "tready": stream.ready,
    }, {})
