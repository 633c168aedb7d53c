"""What is handed over beside the Verilog agrees with the simulated engine: the register map, and the driver in C."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from systemrdl.compiler import RDLCompiler
from systemrdl.node import RegNode

from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.engine.control.register import Access, Home
from cdma.hdl.engine.control.table import registers
from cdma.hdl.generate.handover.c_header import c_header
from cdma.hdl.generate.handover.files import DRIVER, driver
from cdma.hdl.generate.handover.systemrdl import systemrdl
from cdma.verif.regression.plan import register_map
from tests.extended import usually
from tests.verif.engine.sweep import SWEEP

_CONFIGS = {name: load_engine(name) for name in ("tiny", "default")} | {"sweep0": SWEEP["sweep0"]}
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


_BENCHES = [("tiny", "driver"), ("tiny", "rings"), ("default", "driver"), ("default", "rings"), *(
    ("sweep0", bench) for bench in ("driver", "windows", "write_back", "faults", "buffers"))]
"""Engines, and what the driver does with them."""


@pytest.mark.parametrize(("name", "bench"), usually(
    ("tiny", "driver"), ("tiny", "rings"), *_BENCHES[-4:], of=_BENCHES))
def test_the_reference_driver(name: str, bench: str, engine_bench, tmp_path: Path) -> None:
    config = _CONFIGS[name]
    assert bench != "windows" or config.address_windows
    engine_bench(config, f"cdma.verif.engine.benches.reference_{bench}", share=1, library=_library(config, tmp_path))


_TOGETHER = {"sweep0": ("driver", "faults", "windows", "write_back", "buffers"), "tiny": ("rings",)}


@pytest.mark.parametrize("name", usually("tiny", of=_TOGETHER))
def test_the_driver_in_python(name: str, engine_bench) -> None:
    """The same benches as in C, all of an engine in one simulation."""
    benches = ",".join(f"cdma.verif.engine.benches.reference_{each}" for each in _TOGETHER[name])
    engine_bench(_CONFIGS[name], benches, share=1, driver="tests.verif.engine.python_driver:PythonDriver")


def _library(config: EngineConfig, tmp_path: Path) -> str:
    """The driver for an engine as a shared library."""
    header, library = tmp_path / f"{config.name}_regs.h", tmp_path / "driver.so"
    header.write_text(c_header(config))
    (tmp_path / DRIVER).write_text(driver())
    subprocess.run(["gcc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC",
                    f"-I{tmp_path}", f'-DREGS="{header.name}"', "-o", str(library),
                    str(Path(__file__).parent / "driver.c")], check=True)
    return str(library)
