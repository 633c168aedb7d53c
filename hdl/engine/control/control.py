"""Control: connects bus, register bank, store, channels, rings and interrupt."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.attributes import attributes_layout
from cdma.hdl.engine.axi.lite import AxiLite
from cdma.hdl.engine.axi.pages import window_layout
from cdma.hdl.engine.axi.signature import axi_lite, axi_read, axi_write
from cdma.hdl.engine.axi.watch import Metronome
from cdma.hdl.engine.control.bank import Bank, fields_layout, own
from cdma.hdl.engine.control.channel import Channel
from cdma.hdl.engine.control.descriptor import Operation
from cdma.hdl.engine.control.fetcher import Fetcher
from cdma.hdl.engine.control.ring import Ring
from cdma.hdl.engine.control.store import Store
from cdma.hdl.engine.control.table import ADDRESS_BITS, DIRECTIONS, ERROR_BITS, MEMORIES, PORTS, WINDOW_BITS, registers
from cdma.hdl.engine.control.windows import WINDOW_REGISTERS, Windows
from cdma.hdl.engine.control.write_back_rings import WriteBackRings, join_channel, pulses, report_records
from cdma.hdl.engine.transfer.buffers import inject_layout
from cdma.hdl.engine.transfer.records import events_layout, request_layout, result_layout

__all__ = ["Control"]

_ATTRIBUTE_REGISTERS = {port: f"{port}_attributes" for port in ("lane", "link")}
_NEVER = Const(0, 1)


class Control(wiring.Component):
    """Registers, descriptor queues and rings, completions, counters and the interrupt.

    ::

        bus --> AxiLite --> bank --+--> store --+--> channel (offload)  <--> offload_request, offload_result
                                   |      ^     +--> channel (prefetch) <--> prefetch_request, prefetch_result
                                   +--> rings
                                   +--> windows
                                          |
        fetch <---------------------- fetcher
        records <--- write-back rings <--- completions of the channels

    Parameters
    ----------
    config : EngineConfig
        What is built.

    Members
    -------
    bus : In(axi_lite(12))
        Registers: :mod:`cdma.hdl.engine.control.table`.
    irq : Out(1)
        A level: a bit is set both in IRQ_STATUS and in IRQ_ENABLE.
    fetch : Out(axi_read(address_bits, link_beat_bytes))
        Link memory, for the descriptor rings; aligned reads of 64 bytes.
    offload_request, prefetch_request : Out(stream.Signature(request_layout(config)))
        Checked transfers, ``transfers_in_flight`` at a time in each direction.
    offload_result, prefetch_result : In(stream.Signature(result_layout(config)))
        Their results. The payload must not change while ``ready`` is low.
    offload_abort, prefetch_abort : Out(1)
        A level: high until the result of the oldest transfer arrives.
    silent : In(1)
        The link has not answered reads for the time limit (:mod:`cdma.hdl.engine.axi.watch`).
    isolated : In(PORTS)
        Ports of the data paths that still have transactions open of a transfer that was reported.
    tick : Out(2)
        Ticks of the time limits: for the link's ports, for the lanes' ports.
    restart : Out(1)
        A time limit has changed: see :class:`cdma.hdl.engine.axi.watch.Metronome`.
    irq_pulse : Out(1)
        With ``write_back``: the interrupt as single cycles, see
        :func:`cdma.hdl.engine.control.write_back_rings.pulses`.
    records : Out(axi_write(address_bits, link_beat_bytes))
        With ``write_back``: link memory, for records of completions.
    write_silent : In(1)
        With ``write_back``: the link has not answered writes for the time limit.
    offload_events, prefetch_events : In(events_layout(config))
        For the counters.
    offload_listing, prefetch_listing : In(1)
        With ``page_lists``: a page list is being read, perhaps of a transfer that has completed.
    offload_inject, prefetch_inject : Out(inject_layout(config))
        With ``buffer_parity``: errors to inject.
    attributes : Out({lane, link})
        With ``attribute_registers``: attributes of the ports' transactions.
    window : Out(window_layout(address_bits))
        With ``address_windows``: the link's window.
    soft_reset : Out(1)
        High for one cycle in which both directions are idle, and no page list is being read, unless the link is silent.
        Resets all of control except an isolated reader of descriptors, and an isolated writer of records.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        members: dict[str, wiring.Member] = {}
        if config.buffer_parity:
            members |= {f"{name}_inject": Out(inject_layout(config)) for name in DIRECTIONS}
        if config.page_lists:
            members |= {f"{name}_listing": In(1) for name in DIRECTIONS}
        if config.attribute_registers:
            members["attributes"] = Out(data.StructLayout(dict.fromkeys(
                ("lane", "link"), attributes_layout(config.user_bits))))
        if config.address_windows:
            members["window"] = Out(window_layout(config.address_bits))
        if config.write_back:
            members |= {"irq_pulse": Out(1), "write_silent": In(1),
                        "records": Out(axi_write(config.address_bits, config.link_beat_bytes))}
        for name in DIRECTIONS:
            members |= {
                f"{name}_request": Out(stream.Signature(request_layout(config))),
                f"{name}_result": In(stream.Signature(result_layout(config))),
                f"{name}_abort": Out(1), f"{name}_events": In(events_layout(config)),
            }
        super().__init__({
            "bus": In(axi_lite(ADDRESS_BITS)), "irq": Out(1),
            "fetch": Out(axi_read(config.address_bits, config.link_beat_bytes)), "soft_reset": Out(1),
            "silent": In(1), "isolated": In(data.StructLayout(dict.fromkeys(PORTS, 1))), "tick": Out(2),
            "restart": Out(1), **members})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        renew = ResetInserter(self.soft_reset)
        m.submodules.lite = lite = AxiLite(ADDRESS_BITS)
        m.submodules.bank = bank = Bank(config)
        store, fetcher = Store(config), Fetcher(config)
        m.submodules.store = renew(store)
        m.submodules.fetcher = fetcher
        wiring.connect(m, wiring.flipped(self.bus), lite.bus)
        wiring.connect(m, lite.port, bank.port)
        wiring.connect(m, bank.command, store.command)
        wiring.connect(m, fetcher.axi, wiring.flipped(self.fetch))
        wiring.connect(m, fetcher.fill, store.fill)
        m.d.comb += [
            store.push.eq(fetcher.push),
            store.push_direction.eq(fetcher.direction),
            fetcher.pushed.eq(store.pushed),
        ]

        resetting = Signal()
        idle: Value = fetcher.idle
        isolated: dict[str, Value] = {"link_read": fetcher.isolated}    # ports of control's own
        records = None
        if config.write_back:
            records = WriteBackRings(config)
            idle, isolated["link_write"] = idle & records.idle, records.isolated
        channels, rings = [], []
        refusals: list[Value] = []      # by direction, in the order of the fields of REFUSED
        pushes: list[Value] = []
        counts: list[Value] = []
        for number, name in enumerate(DIRECTIONS):
            channel, ring = Channel(config, Operation[name.upper()]), Ring(config)
            m.submodules[f"{name}_channel"] = renew(channel)
            m.submodules[f"{name}_ring"] = renew(ring)
            channels.append(channel)
            rings.append(ring)
            wiring.connect(m, channel.request, wiring.flipped(getattr(self, f"{name}_request")))
            wiring.connect(m, wiring.flipped(getattr(self, f"{name}_result")), channel.result)
            m.d.comb += getattr(self, f"{name}_abort").eq(channel.aborting)
            self._join(m, number, channel, store, getattr(self, f"{name}_events"))
            taken = Signal(range(config.queue_depth + 1), name=f"{name}_taken")
            m.d.comb += [
                taken.eq(channel.level + fetcher.count[number]),
                fetcher.rings[number].eq(ring.values),
                fetcher.pending[number].eq(
                    ring.pending & ~taken[-1] & ~channel.unread_waits & ~resetting & bank.idle),
                Cat(ring.open, ring.advance, ring.fail).eq(
                    Cat(fetcher.count[number] != 0, fetcher.advance[number], fetcher.fail[number])),
                channel.hold.eq(resetting),
                channel.word.eq(bank.port.address),
                bank.completion[number].eq(channel.completion),
            ]
            self._registers(m, bank, name, channel, ring, taken)
            written = own(bank.written, name)
            pushed, popped, count = (
                Signal(name=f"{name}_{what}") for what in ("asks_push", "asks_pop", "asks_count"))
            m.d.comb += [
                pushed.eq(written.doorbell & bank.data[0]),
                popped.eq(written.completion_pop & bank.data[0]),
                count.eq(written.counter_control & bank.data[:2].any()),
                channel.pop.eq(popped & (channel.completions != 0)),
                channel.abort.eq(written.abort & bank.data[0]),
            ]
            refused = Cat(pushed & taken[-1], popped & (channel.completions == 0), ring.refuse)
            if records is not None:
                refused = join_channel(m, bank, number, channel, records, popped, refused)
            refusals.append(refused)
            self._refused(m, bank, f"{name}_refused", refused)
            pushes.append(pushed)
            counts.append(count)
        if records is not None:
            m.submodules.records = records
            self._records(m, bank, records, resetting)
        locked: Value = _NEVER
        if config.address_windows:
            refused, locked = self._windows(m, bank, channels, rings, records)
            refusals.append(refused)
        m.d.comb += [
            bank.refuse.eq(Cat(refusals).any()),
            bank.push.eq(Cat(pushes).any()),
            bank.count.eq(Cat(counts).any()),
        ]
        for channel in channels:
            m.d.comb += channel.unread.eq(fetcher.failed & store.from_ring)
        self._interrupt(m, bank, channels, fetcher, records)
        self._time_limit(m, bank, fetcher, isolated)
        if config.attribute_registers:
            self._attributes(m, bank, locked)
        if config.buffer_parity:
            self._buffers(m, bank)

        listing: list[Value] = [getattr(self, f"{name}_listing") for name in DIRECTIONS] if config.page_lists else []
        m.d.comb += bank.values.control.soft_reset.eq(resetting)
        m.d.sync += self.soft_reset.eq(resetting & ~self.soft_reset & bank.idle & idle
                                       & ~Cat(each.busy for each in channels).any()
                                       & ~(Cat(listing).any() & ~self.silent))
        with m.If(self.soft_reset):
            m.d.sync += resetting.eq(0)
        with m.Elif(bank.written.control & bank.data[0]):
            m.d.sync += resetting.eq(1)
        return m

    def _join(self, m: Module, number: int, channel: Channel, store: Store, events: data.View) -> None:
        """Connects a channel to the store: descriptors to the channel, events and totals to the store."""
        owned = store.direction == number
        m.d.comb += [
            channel.record.write.eq(store.record.write & owned),
            channel.record.push.eq(store.record.push & owned),
            channel.record.word.eq(store.record.word),
            channel.record.data.eq(store.record.data),
            store.events[number].eq(events),
            store.busy[number].eq(channel.busy),
            store.account[number].eq(channel.account),
            channel.accounted.eq(store.accounted[number]),
        ]

    def _registers(self, m: Module, bank: Bank, name: str, channel: Channel, ring: Ring, taken: Signal) -> None:
        """Connects the registers of a channel."""
        values, written, status = own(bank.values, name), own(bank.written, name), own(bank.values.status, name)
        base = Signal(self._config.address_bits, name=f"{name}_base")
        m.d.comb += [
            base[6:].eq(ring.values.base),
            values.queue.level.eq(channel.level),
            values.queue.free.eq(self._config.queue_depth - taken),
            values.completions.count.eq(channel.completions),
            values.abort.abort.eq(channel.aborting),
            values.ring_base_lo.address.eq(base[6:32]),
            values.ring_base_hi.address.eq(base[32:]),
            values.ring_size.entries.eq(ring.values.size),
            values.ring_tail.index.eq(ring.values.tail),
            values.ring_head.index.eq(ring.values.head),
            values.ring_control.enable.eq(ring.values.enable),
            # Entries of a page list that its stream did not need may come after the completion.
            status.busy.eq(channel.busy | (getattr(self, f"{name}_listing") if self._config.page_lists else 0)),
            status.blocked.eq(channel.blocked),
            ring.data.eq(bank.data),
            ring.write.base_lo.eq(written.ring_base_lo), ring.write.base_hi.eq(written.ring_base_hi),
            ring.write.size.eq(written.ring_size), ring.write.tail.eq(written.ring_tail),
            ring.write.control.eq(written.ring_control),
        ]

    def _records(self, m: Module, bank: Bank, records: WriteBackRings, resetting: Value) -> None:
        """Connects the write-back rings to bus, link and reset."""
        wiring.connect(m, records.axi, wiring.flipped(self.records))
        m.d.comb += [
            records.data.eq(bank.data), records.hold.eq(resetting), records.soft_reset.eq(self.soft_reset),
            records.silent.eq(self.write_silent),
        ]

    def _windows(self, m: Module, bank: Bank, channels: list[Channel], rings: list[Ring],
                 records: WriteBackRings | None) -> tuple[Value, Value]:
        """The registers of the address windows, which a soft reset leaves alone. Returns which writes are refused, in
        the order of the fields of REFUSED, and whether the windows are locked."""
        m.submodules.windows = windows = Windows(self._config)
        enables = [each.values.enable for each in rings]
        if records is not None:
            enables += [each.ring.enable for each in records.values]
            m.d.comb += records.window.eq(windows.values.link)
        m.d.comb += [
            *(windows.write[name].eq(bank.written[name]) for name in WINDOW_REGISTERS),
            windows.data.eq(bank.data),
            windows.idle.eq(~Cat([own(bank.values.status, name).busy for name in DIRECTIONS], enables).any()),
            *(channel.windows.eq(windows.values) for channel in channels),
            *(ring.window.eq(windows.values.link) for ring in rings),
            self.window.eq(windows.values.link),
            bank.values.window_control.lock.eq(windows.locked),
        ]
        low = 32 - WINDOW_BITS
        for memory in MEMORIES:
            values, window = own(bank.values, memory), windows.values[memory]
            m.d.comb += [values.base_lo.address.eq(window.base[:low]), values.base_hi.address.eq(window.base[low:]),
                         values.limit_lo.address.eq(window.limit[:low]), values.limit_hi.address.eq(window.limit[low:])]
        refused: Value = windows.refuse
        if self._config.attribute_registers:
            changes = Cat(bank.written[name] for name in _ATTRIBUTE_REGISTERS.values()).any()
            refused = Cat(refused, windows.locked & changes)
        self._refused(m, bank, "refused", refused)
        return refused, windows.locked

    def _refused(self, m: Module, bank: Bank, register: str, happened: Value) -> None:
        """A register REFUSED: a refused write sets its bit; writing 1 clears it."""
        status = Signal(len(happened), name=register)
        cleared = bank.data[:len(status)] & bank.written[register].replicate(len(status))
        m.d.sync += status.eq((status & ~cleared) | happened)
        with m.If(self.soft_reset):
            m.d.sync += status.eq(0)
        m.d.comb += Value.cast(bank.values[register]).eq(status)

    def _written(self, m: Module, bank: Bank, name: str, locked: Value) -> data.View:
        """A register that the bus writes as it is; the soft reset gives it its reset value. Neither changes it while it
        is locked."""
        register, = (each for each in registers(self._config) if each.name == name)
        value = Signal(fields_layout(register), name=name.lower(),
                       init={each.name.lower(): each.reset for each in register.fields})
        for each in register.fields:
            field = each.name.lower()
            with m.If(self.soft_reset & ~locked):
                m.d.sync += value[field].eq(each.reset)
            with m.Elif(bank.written[name.lower()] & ~locked):
                m.d.sync += value[field].eq(data.View(value.shape(), bank.data)[field])
        m.d.comb += bank.values[name.lower()].eq(value)
        return value

    def _attributes(self, m: Module, bank: Bank, locked: Value) -> None:
        """The registers LANE_ATTRIBUTES and LINK_ATTRIBUTES, which the lock of the windows locks, too."""
        for port, name in _ATTRIBUTE_REGISTERS.items():
            chosen, register = self.attributes[port], self._written(m, bank, name.upper(), locked)
            m.d.comb += [chosen[name].eq(register[name]) for name, _ in chosen.shape()]

    def _time_limit(self, m: Module, bank: Bank, fetcher: Fetcher, isolated: dict[str, Value]) -> None:
        """The register TIME_LIMIT, the ticks made from it, and the status bits of isolated ports."""
        limit = self._written(m, bank, "TIME_LIMIT", _NEVER)
        m.submodules.metronome = metronome = Metronome(len(dict(limit.shape())))
        # In the cycle behind the write, in which the limit is the new one.
        m.d.sync += metronome.changed.eq(bank.written.time_limit | self.soft_reset)
        m.d.comb += [
            metronome.limit[0].eq(limit.link),
            metronome.limit[1].eq(limit.lanes),
            self.tick.eq(metronome.tick), self.restart.eq(metronome.restart),
            fetcher.silent.eq(self.silent),
        ]
        m.d.comb += [bank.values.status[f"{port}_isolated"].eq(self.isolated[port] | isolated.get(port, 0))
                     for port in PORTS]

    def _interrupt(self, m: Module, bank: Bank, channels: list[Channel], fetcher: Fetcher,
                   records: WriteBackRings | None) -> None:
        """The interrupt registers. An event in the cycle in which its bit is cleared sets the bit."""
        layout = {register.name: fields_layout(register) for register in registers(self._config)}
        status = Signal(layout["IRQ_STATUS"])
        enable = Signal(layout["IRQ_ENABLE"])
        happened = Signal(layout["IRQ_STATUS"])
        for number, (name, channel) in enumerate(zip(DIRECTIONS, channels)):
            event = own(happened, name)
            m.d.comb += [event.completion.eq(channel.causes.completion), event.error.eq(channel.causes.error),
                         event.ring_error.eq(fetcher.fail[number])]
        if records is not None:
            report_records(m, happened, records)
        cleared = Signal(layout["IRQ_STATUS"])
        with m.If(bank.written.irq_status):
            m.d.comb += Value.cast(cleared).eq(bank.data)
        for field, _ in layout["IRQ_STATUS"]:
            m.d.sync += status[field].eq((status[field] & ~cleared[field]) | happened[field])
            with m.If(bank.written.irq_enable):
                m.d.sync += enable[field].eq(data.View(layout["IRQ_ENABLE"], bank.data)[field])
            with m.If(self.soft_reset):
                m.d.sync += [status[field].eq(0), enable[field].eq(0)]
        m.d.comb += [
            bank.values.irq_status.eq(status),
            bank.values.irq_enable.eq(enable),
        ]
        m.d.sync += self.irq.eq((Value.cast(status) & Value.cast(enable)).any() & ~self.soft_reset)
        if records is not None:
            due = pulses(m, Value.cast(happened), Value.cast(status), Value.cast(enable),
                         bank.written.irq_status | bank.written.irq_enable, self.irq_pulse)
            m.d.sync += self.irq_pulse.eq(due & ~self.soft_reset)

    def _buffers(self, m: Module, bank: Bank) -> None:
        """BUFFER_ERRORS, which counts the errors of each direction, and BUFFER_INJECT, which injects what the bus asks
        for."""
        for name in DIRECTIONS:
            count = Signal(ERROR_BITS, name=f"{name}_buffer_errors")
            total = Signal(ERROR_BITS + 1, name=f"{name}_buffer_total")
            m.d.comb += [total.eq(count + getattr(self, f"{name}_events").buffer_errors),
                         bank.values.buffer_errors[name].eq(count)]
            m.d.sync += count.eq(Mux(self.soft_reset, 0, total[:ERROR_BITS] | total[-1].replicate(ERROR_BITS)))
        register, = (each for each in registers(self._config) if each.name == "BUFFER_INJECT")
        asked = data.View(fields_layout(register), bank.data)
        for number, name in enumerate(DIRECTIONS):
            inject = getattr(self, f"{name}_inject")
            with m.If(bank.written.buffer_inject & asked.inject & (asked.memory[-1] == number)):
                m.d.comb += [inject.lane.eq(asked.lane),
                             inject.memories.eq((asked.lane < self._config.lanes) << asked.memory[:-1])]
