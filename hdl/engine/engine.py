"""The engine's top: both data paths, control, and the AXI ports."""

from __future__ import annotations

from collections.abc import Collection

from amaranth.hdl import Cat, ClockDomain, DomainRenamer, Module, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.arbiter import AxiReadArbiter, AxiWriteArbiter
from cdma.hdl.engine.axi.attributes import AttributeHold, attributes_layout
from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.hdl.engine.axi.crossing import FAR, AxiCrossing
from cdma.hdl.engine.axi.reorder import AxiReorder
from cdma.hdl.engine.axi.signature import axi_full, axi_lite
from cdma.hdl.engine.axi.watch import PortWatch, read_answers, write_answers
from cdma.hdl.engine.control.control import Control
from cdma.hdl.engine.control.table import ADDRESS_BITS
from cdma.hdl.engine.paths.offload import OffloadPath
from cdma.hdl.engine.paths.prefetch import PrefetchPath

__all__ = ["Engine"]


class Engine(wiring.Component):
    """Moves tensors between device memory and the link, and compresses them for the link.

    ::

                         +---------+ read    +--------------+   write
        m_axi_lane0 <--->|         |-------->| offload path |-----------> m_axi_link
        m_axi_lane1 <--->|  ports  |         +--------------+
          ...            |         | write   +---------------+   read  +---------+
                         |         |<--------| prefetch path |<--------| arbiter |<-- m_axi_link
                         +---------+         +---------------+         +---------+
                         +---------+ requests, aborts     ^                 | descriptors
        s_axil <-------->| control |----------------------+                 |
        irq <------------|         |<---------------------------------------+
                         +---------+

    With ``write_back``, offload path and control share the write channels of the link's port, through an arbiter too:
    control writes records of completions. With ``link_read_ids``, what is read at the link is put in order between the
    port and the arbiter, by :class:`cdma.hdl.engine.axi.reorder.AxiReorder`.

    With ``link_clock`` separate, :class:`cdma.hdl.engine.axi.crossing.AxiCrossing` stands before ``m_axi_link``: all
    else, the time limits included, sees its near side.

    Both directions run at the same time, each with its own descriptors.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    aclk, aresetn : In(1)
        Clock, and synchronous reset, active low.
    link_aclk, link_aresetn : In(1)
        With ``link_clock`` separate: those of ``m_axi_link``.
    s_axil : In(axi_lite(...))
        Registers.
    m_axi_lane0, m_axi_lane1, ... : Out(axi_full(...))
        To each memory controller: offload reads, prefetch writes.
    m_axi_link : Out(axi_full(...))
        To the far side: prefetch and descriptor rings read, offload writes.
    irq : Out(1)
        Interrupt, a level.
    irq_pulse : Out(1)
        With ``write_back``: the interrupt as single cycles, for bridges to MSI.

    Source: Rhu et al., HPCA 2018, section V; AMBA AXI and ACE (IHI 0022).
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "aclk": In(1), "aresetn": In(1),
            **({"link_aclk": In(1), "link_aresetn": In(1)} if config.link_clock == "separate" else {}),
            "s_axil": In(axi_lite(ADDRESS_BITS)),
            **{f"m_axi_lane{lane}": Out(axi_full(config.address_bits, config.beat_bytes, config.user_bits))
               for lane in range(config.lanes)},
            "m_axi_link": Out(axi_full(config.address_bits, config.link_beat_bytes, config.user_bits,
                                       config.link_id_bits)),
            "irq": Out(1),
            **({"irq_pulse": Out(1)} if config.write_back else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.domains.sync = sync = ClockDomain()
        m.d.comb += [sync.clk.eq(self.aclk), sync.rst.eq(~self.aresetn)]
        m.submodules.offload = offload = OffloadPath(config)
        m.submodules.prefetch = prefetch = PrefetchPath(config)
        m.submodules.control = control = Control(config)
        readers = [prefetch.link, control.fetch, *((offload.lists, prefetch.lists) if config.page_lists else ())]
        m.submodules.arbiter = arbiter = AxiReadArbiter(
            config.address_bits, config.link_beat_bytes, len(readers), config.link_reads)

        wiring.connect(m, wiring.flipped(self.s_axil), control.bus)
        for number, reader in enumerate(readers):
            wiring.connect(m, reader, arbiter.i[number])
        for path, name in ((offload, "offload"), (prefetch, "prefetch")):
            wiring.connect(m, getattr(control, f"{name}_request"), path.request)
            wiring.connect(m, path.result, getattr(control, f"{name}_result"))
            m.d.comb += [
                path.abort.eq(getattr(control, f"{name}_abort")),
                getattr(control, f"{name}_events").eq(path.events),
            ]
            if config.buffer_parity:
                m.d.comb += path.inject.eq(getattr(control, f"{name}_inject"))
            if config.page_lists:
                m.d.comb += getattr(control, f"{name}_listing").eq(path.listing)
            if config.page_lists and config.address_windows:
                m.d.comb += path.window.eq(control.window)
        for lane in range(config.lanes):
            self._join(m, getattr(self, f"m_axi_lane{lane}"), offload.lanes[lane], prefetch.lanes[lane])
            self._attribute(m, f"lane{lane}", getattr(self, f"m_axi_lane{lane}"), control)
        link, attributed = self._link(m)
        self._join(m, link, self._read_port(m, arbiter), self._write_port(m, offload, control))
        self._attribute(m, "link", attributed, control)
        self._watch(m, link, offload, prefetch, control)
        m.d.comb += self.irq.eq(control.irq)
        return m

    def _link(self, m: Module) -> tuple[wiring.PureInterface, wiring.PureInterface]:
        """The link's port as its masters see it, the port itself or the near side of the crossing; and that of both
        which gets the attributes: those that never change need not cross."""
        config, port = self._config, self.m_axi_link
        if config.link_clock == "shared":
            return port, port
        m.domains.link = far = ClockDomain()
        m.d.comb += [far.clk.eq(self.link_aclk), far.rst.eq(~self.link_aresetn)]
        most_beats = burst_beats(config.link_beat_bytes, config.burst_beats)
        m.submodules.crossing = crossing = AxiCrossing(
            config.address_bits, config.link_beat_bytes, max(config.outstanding_link_writes, config.link_reads),
            most_beats, config.user_bits if config.attribute_registers else None,
            most_beats if config.safe_writes else 0)
        far_side = crossing.o
        if config.link_read_ids == 1:
            self._join(m, port, far_side)
        else:
            reorder = self._reorder(m, FAR)
            reads = [*reorder.i.signature.members]
            self._join(m, reorder.i, far_side, names=reads)
            self._join(m, port, reorder.o)
            self._join(m, port, far_side, names=[name for name in far_side.signature.members if name not in reads])
        return crossing.i, crossing.i if config.attribute_registers else port

    def _read_port(self, m: Module, arbiter: AxiReadArbiter) -> wiring.PureInterface:
        """The master of the link's read channels: the arbiter, or what puts its reads in order. Where the link has its
        own clock, that is behind the crossing, which passes no identifiers."""
        if self._config.link_read_ids == 1 or self._config.link_clock == "separate":
            return arbiter.o
        reorder = self._reorder(m, "sync")
        wiring.connect(m, arbiter.o, reorder.i)
        return reorder.o

    def _reorder(self, m: Module, domain: str) -> AxiReorder:
        config = self._config
        reorder = AxiReorder(config.address_bits, config.link_beat_bytes, config.link_read_ids, config.burst_beats)
        m.submodules.reorder = DomainRenamer(domain)(reorder)
        return reorder

    def _write_port(self, m: Module, offload: OffloadPath, control: Control) -> wiring.PureInterface:
        """The master of the link's write channels: the offload path, or an arbiter if control writes too."""
        config = self._config
        if not config.write_back:
            return offload.link
        m.submodules.write_arbiter = arbiter = AxiWriteArbiter(
            config.address_bits, config.link_beat_bytes, 2, config.outstanding_link_writes)
        wiring.connect(m, offload.link, arbiter.i[0])
        wiring.connect(m, control.records, arbiter.i[1])
        m.d.comb += [control.write_silent.eq(offload.silent[config.lanes]), self.irq_pulse.eq(control.irq_pulse)]
        return arbiter.o

    def _watch(self, m: Module, link_port: wiring.PureInterface, offload: OffloadPath, prefetch: PrefetchPath,
               control: Control) -> None:
        """Connects the silent ports to both paths and control, and the isolated ports to control."""
        lanes = self._config.lanes
        silent: dict[str, list[Value]] = {"offload": [], "prefetch": []}
        for name in [*(f"lane{lane}" for lane in range(lanes)), "link"]:
            link = name == "link"
            port = link_port if link else getattr(self, f"m_axi_{name}")
            for channels, answers, path in (("read", read_answers(port), "prefetch" if link else "offload"),
                                            ("write", write_answers(port), "offload" if link else "prefetch")):
                m.submodules[f"watch_{name}_{channels}"] = watch = PortWatch()
                m.d.comb += [watch.answers.eq(answers), watch.tick.eq(control.tick[0 if link else 1]),
                             watch.restart.eq(control.restart)]
                silent[path].append(watch.silent)
        link_read: Value = prefetch.isolated[lanes]
        if self._config.page_lists:
            silent["offload"].append(silent["prefetch"][lanes])
            link_read = link_read | offload.isolated[lanes + 1]
        m.d.comb += [
            offload.silent.eq(Cat(silent["offload"])),
            prefetch.silent.eq(Cat(silent["prefetch"])),
            control.silent.eq(prefetch.silent[lanes]),
            control.isolated.lane_read.eq(offload.isolated[:lanes].any()),
            control.isolated.lane_write.eq(prefetch.isolated[:lanes].any()),
            control.isolated.link_read.eq(link_read),
            control.isolated.link_write.eq(offload.isolated[lanes]),
        ]

    def _attribute(self, m: Module, name: str, port: wiring.PureInterface, control: Control) -> None:
        """Gives the requests of a port the attributes of its kind: constants, or what the driver chose."""
        config, kind = self._config, name.rstrip("0123456789")
        for channel in ("ar", "aw"):
            given: dict[str, ValueLike] = {each: getattr(config, f"{kind}_{each}")
                                           for each in attributes_layout(config.user_bits).members}
            if config.attribute_registers:
                m.submodules[f"{name}_{channel}"] = hold = AttributeHold(config.user_bits)
                m.d.comb += [hold.i.eq(control.attributes[kind]), hold.valid.eq(getattr(port, f"{channel}valid")),
                             hold.ready.eq(getattr(port, f"{channel}ready"))]
                given = {each: hold.o[each] for each in given}
            m.d.comb += [getattr(port, f"{channel}{each}").eq(value) for each, value in given.items()]

    def _join(self, m: Module, port: wiring.PureInterface, *masters: wiring.PureInterface,
              names: Collection[str] | None = None) -> None:
        """Connects the channels of a port to the masters that own them; of these only some signals, if named."""
        for master in masters:
            for name, member in master.signature.members.items():
                if names is not None and name not in names:
                    continue
                outside, inside = getattr(port, name), getattr(master, name)
                m.d.comb += outside.eq(inside) if member.flow == Out else inside.eq(outside)
