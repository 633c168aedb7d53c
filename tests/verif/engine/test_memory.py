"""The memory that engines are simulated with: masters that others wrote agree with it, and faults of masters show."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.hdl.engine.axi.signature import axi_full
from cdma.verif.common import runner, tools
from cdma.verif.engine import top
from tests.extended import usually

_PORTS = ["m_axi_lane0", "m_axi_lane1"]
_ID_BITS = {"m_axi_link": 4}
_JOB = {"beat_bytes": 16, "image_bytes": 1 << 16, "interleave": 512, "address_bits": 40}


def _bare() -> str:
    """Two memories without an engine: the pins of their ports are the top's."""
    header, ports = ["input wire aclk", "input wire aresetn", *top.KNOB_PORTS], [*_PORTS, "m_axi_link"]
    for port in ports:
        members = axi_full(_JOB["address_bits"], _JOB["beat_bytes"], id_bits=_ID_BITS.get(port, 1)).members
        for name, member in members.items():
            direction = "input" if member.flow.value == "Out" else "output"
            header.append(f"{direction} wire {top.wire_range(member)}{port}_{name}")
    size = _JOB["address_bits"], _JOB["beat_bytes"]
    most = 2 * _JOB["image_bytes"]      # the bench uses half of what the design has room for
    return "\n".join([
        top.SOURCE, "module bare (\n" + ",\n".join(header) + ");",
        "wire [63:0] device_read, link_read;", "assign knob_read = knob_memory ? link_read : device_read;",
        top.memory("device", top.DEVICE, *size, _PORTS, most, _JOB["interleave"],
                   top.Rules(16, 1, 1, attributes=0x23, safe_writes=True)),
        top.memory("link", top.LINK, *size, ["m_axi_link"], most, 0,
                   top.Rules(attributes=0x23, id_bits=_ID_BITS["m_axi_link"], own_ids=True)), "endmodule"])


_SIMULATORS = [simulator for simulator in tools.SIMULATORS if tools.available(simulator)]


@pytest.mark.parametrize("simulator", usually(*_SIMULATORS[:1], of=_SIMULATORS))
def test_memory(simulator: str, build_dir: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # bench_memory.py lies here; simulators inherit the path.
    monkeypatch.syspath_prepend(Path(__file__).parent)
    built = runner.build(_bare(), "bare", simulator=simulator, build_dir=build_dir)
    runner.run(built, "bench_memory", job=_JOB, folder=tmp_path, seed=seed)
