"""Proofs of the cores' ports: they keep the rules of AXI4-Stream while their sources do."""

from __future__ import annotations

from types import SimpleNamespace

from amaranth.hdl import Cat, Const, DomainRenamer, Signal

from cdma.hdl.config.core import CoreConfig
from cdma.hdl.generate.axis import AxiStreamCore
from cdma.verif.formal.bus_rules import ASSERTED, ASSUMED, stream_rules
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import choose

__all__ = ["PROOFS", "of_core"]


def _core(h: Harness, config: CoreConfig) -> None:
    """What leaves a {core} keeps every rule of AXI4-Stream, with contiguous bytes, and codes stay with their beat."""
    top = AxiStreamCore(config)
    h.add("dut", DomainRenamer("core")(top))
    h.m.d.comb += [top.aclk.eq(h.clock), top.aresetn.eq(h.begun)]
    choose(h, top, ("s_axis_tdata", "s_axis_tkeep", "s_axis_tlast", "s_axis_tuser", "s_axis_tvalid", "m_axis_tready"))

    def port(side: str) -> SimpleNamespace:
        return SimpleNamespace(
            valid=getattr(top, f"{side}_tvalid"), ready=getattr(top, f"{side}_tready"),
            payload=SimpleNamespace(**{name: getattr(top, f"{side}_t{name}") for name in ("data", "keep", "last")}))

    stream_rules(h, port("s_axis"), ASSUMED, top.s_axis_tuser, no_empty=True, name="source")
    stream_rules(h, port("m_axis"), ASSERTED, Const(0, 1), no_empty=False, name="output")
    # Codes beside the last beat stay with it.
    codes = Cat(getattr(top, name) for name in ("error_code", "error_line") if hasattr(top, name))
    last = top.m_axis_tvalid & top.m_axis_tlast
    waited, was = Signal(name="codes_waited"), Signal(len(codes), name="codes_were", reset_less=True)
    h.m.d.sync += [waited.eq(last & ~top.m_axis_tready), was.eq(codes)]
    h.check("codes_stay", ~waited | (codes == was))
    h.cover("beat_waits", h.past(top.m_axis_tvalid & ~top.m_axis_tready, "waits") & top.m_axis_tvalid)
    h.cover("packet_ends", top.m_axis_tvalid & top.m_axis_tready & top.m_axis_tlast)


def _proof(config: CoreConfig, depth: int, cover_depth: int, configured: bool = False) -> Proof:
    return Proof(f"{config.core}_stream", f"hdl/codec/lines/{config.core}.py", _core, {"config": config}, depth,
                 coverage=f"any packets, stalls and gaps; beats of {config.beat_bytes} bytes", cover_depth=cover_depth,
                 configured=configured, words={"core": config.core})


def of_core(config: CoreConfig) -> tuple[Proof, ...]:
    """The streams of a core of lines."""
    return _proof(config, 10, 24, configured=True),


PROOFS = (
    _proof(CoreConfig(core="compressor", beat_bytes=16), 16, 20),
    _proof(CoreConfig(core="decompressor", beat_bytes=16), 14, 20),
)
"""Proofs of streams."""
