"""A stream that breaks on purpose: packets pass unchanged, but ``tuser`` of a packet chooses a fault to commit in it.

The sink and the scoreboard have to name every fault; a bench that lets one pass would let it pass in a core.
"""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from cdma.hdl.config.core import CoreConfig
from cdma.verif.common.stream import Packet
from cdma.verif.core.packets import Expected
from cdma.verif.core.testbench import CoreTestbench

BEAT_BYTES = 16
NAMED = {
    1: "is 0x",                                     # a bit of the data flips
    2: "tvalid fell",                               # valid falls before ready
    3: "m_axis_tdata changed",                      # data changes before ready
    4: "byte 48 (line 0) is 0x",                     # the fourth beat is lost
    5: "does not keep the first bytes",             # keep of the last beat has a hole
    6: "error code is 2, not 0",                    # an error is reported
    7: "nothing came out",                          # the packet never ends
}
"""What has to be said about each fault."""


def _unchanged(packet: Packet, config: CoreConfig) -> list[Expected]:
    """Every packet as it went in."""
    return [Expected(packet.data, starts=np.arange(0, packet.data.size, 128))]


async def _play(dut: Any, fault: int) -> list[str]:
    bench = CoreTestbench(dut, CoreConfig(beat_bytes=BEAT_BYTES), _unchanged)
    await bench.reset()
    bench.stall(0.3, 0.5, cocotb.RANDOM_SEED % 1000)
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    lengths = rng.integers(130, 500, 4).tolist()
    packets = [Packet(rng.integers(0, 256, length, dtype=np.uint8), code)
               for length, code in zip(lengths, (0, 0, fault, 0), strict=True)]
    if fault == 7:
        # Without its end, the packet runs into the next; whole beats, so that nothing else is wrong with it.
        packets[2:] = [Packet(np.ones(160, np.uint8), fault)]
    try:
        await bench.play(packets)
    except AssertionError as error:
        assert bench.differences[0] in str(error)
    finally:
        bench.close()
    return bench.differences


@cocotb.test()
async def faults_are_named(dut: Any) -> None:
    """Every fault is found, and named for what it is."""
    for fault, words in NAMED.items():
        said = await _play(dut, fault)
        assert any(words in sentence for sentence in said), f"fault {fault}: {said}"


@cocotb.test()
async def no_fault_is_made_up(dut: Any) -> None:
    """Nothing is said about a stream that is right."""
    assert await _play(dut, 0) == []


@cocotb.test()
async def reset_is_watched(dut: Any) -> None:
    """A core that offers a beat while it is held in reset is found."""
    bench = CoreTestbench(dut, CoreConfig(beat_bytes=BEAT_BYTES), _unchanged)
    dut.offer_in_reset.value = 1
    await bench.reset()
    dut.offer_in_reset.value = 0
    assert bench.differences == ["m_axis_tvalid is not low in reset"]


@cocotb.test()
async def fails_when_asked(dut: Any) -> None:
    """A failing test, for the test of what the runner makes of one."""
    await CoreTestbench(dut, CoreConfig(beat_bytes=BEAT_BYTES), _unchanged).reset()
    raise AssertionError("this fault is on purpose")


@cocotb.test()
async def ends_when_asked(dut: Any) -> None:
    """The design ends the simulation, and says why in the log alone."""
    bench = CoreTestbench(dut, CoreConfig(beat_bytes=BEAT_BYTES), _unchanged)
    await bench.reset()
    dut.ends.value = 0xA5
    await bench.play([Packet(np.ones(160, np.uint8), 0)])
