"""What is handed over beside the Verilog agrees with the simulated engine: the register map, and the driver in C."""

from __future__ import annotations

from pathlib import Path

import pytest
from systemrdl.compiler import RDLCompiler
from systemrdl.node import RegNode

from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.control.register import Access, Home
from cdma.hdl.engine.control.table import registers
from cdma.hdl.generate.handover.systemrdl import systemrdl
from cdma.verif.regression.plan import register_map
from tests.extended import usually
from tests.verif.engine.sweep import SWEEP

_CONFIGS = {name: load_engine(name) for name in ("tiny", "engine")} | {"sweep0": SWEEP["sweep0"]}
"""Two presets, and an engine with the registers that only some have."""


def _rdl_offsets(text: str, folder: Path) -> dict[str, int]:
    """Offsets as SystemRDL's own compiler finds them."""
    source = folder / "map.rdl"
    source.write_text(text)
    compiler = RDLCompiler()
    compiler.compile_file(str(source))
    top = compiler.elaborate().top
    return {node.get_path("_").upper().removeprefix(f"{top.inst_name.upper()}_"): node.absolute_address
            for node in top.descendants() if isinstance(node, RegNode)}


@pytest.mark.parametrize("name", usually("tiny", "sweep0", of=_CONFIGS))
def test_registers_answer_where_the_map_has_them(name: str, engine_bench, tmp_path: Path) -> None:
    config = _CONFIGS[name]
    offsets = _rdl_offsets(systemrdl(config), tmp_path)
    table = {name: (offsets[name], reset, held) for name, (_, reset, held) in register_map(config).items()}
    assert all(register.home is not Home.WINDOW or any(field.access is Access.RW for field in register.fields)
               for register in registers(config))
    engine_bench(config, "cdma.verif.engine.benches.registers", share=1, map=table)


_BENCHES = {"sweep0": ("driver", "faults", "windows", "write_back"), "tiny": ("driver", "rings"),
            "engine": ("driver", "rings")}
"""Engines, and what the driver does with them, all in one simulation."""


@pytest.mark.parametrize("name", usually("tiny", "sweep0", of=_BENCHES))
def test_the_reference_driver(name: str, engine_bench) -> None:
    assert _CONFIGS["sweep0"].address_windows
    benches = ",".join(f"cdma.verif.engine.benches.reference_{each}" for each in _BENCHES[name])
    engine_bench(_CONFIGS[name], benches, share=1)
