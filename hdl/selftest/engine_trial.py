"""One test of an engine: a tensor from device memory to link memory and back, with all that can be checked."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, ClockSignal, DomainRenamer, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.engine.control.descriptor import Operation, descriptor_layout
from cdma.hdl.engine.engine import Engine
from cdma.hdl.selftest.axi_memory import PAUSE_BITS, AxiMemory
from cdma.hdl.selftest.config import EngineTestConfig
from cdma.hdl.selftest.pattern import PLACES, Pattern
from cdma.hdl.selftest.program import DEVICE_BASE, LINK_BASE, Word, program
from cdma.hdl.selftest.sequencer import Sequencer
from cdma.hdl.selftest.source import DUMP, Noise

__all__ = ["ENGINE_ITEMS", "FLIPPED", "EngineTrial", "lengths"]

FLIPPED = DUMP + 1
"""The first item whose stream has a flipped bit; there is one for each of :data:`cdma.hdl.selftest.pattern.PLACES`."""

ENGINE_ITEMS = FLIPPED + len(PLACES)
"""How many items there are: densities, the dump, and flipped bits."""

_HALF = 4
_CYCLES = 64


def lengths(config: EngineTestConfig, line_bytes: int) -> tuple[int, ...]:
    """Raw bytes of the tensor of each item: whole blocks, and short last blocks of all kinds."""
    raw, block = config.raw_bytes, config.block_bytes
    generated = (raw, raw - 4, raw - block // 2, raw - block + 4, raw, block, block // 2 + 12, raw - 120, raw)
    return *generated, line_bytes, *(raw,) * len(PLACES)


class EngineTrial(wiring.Component):
    """An engine between memories of block RAM, and a sequencer that plays its driver.

    ::

                           +--------+ m_axi_lane0 +-----------------+
        sequencer -------->|        |------------>| device memory 0 |<--+
            | ^     s_axil | engine |     ...                           |
            | +------------|        |------------>| link memory     |<--+
            |          irq +--------+ m_axi_link  +-----------------+   |
            +--> pattern: fill, flip a bit, compare --------------------+

    :mod:`cdma.hdl.selftest.program` has what is done and checked. A trial that does not end in time fails. After a
    trial that failed, engine and memories are held in reset until the next one.

    Parameters
    ----------
    config : EngineTestConfig
        What to build.
    lines : bytes
        The lines of the dump: at most ``config.raw_bytes``.

    Members
    -------
    start : In(1)
        Begin a test. ``item``, ``group`` and ``fault`` must hold until it is done.
    item : In(range(ENGINE_ITEMS))
        Density in eighths, :data:`cdma.hdl.selftest.source.DUMP`, or from :data:`FLIPPED` on: half of the elements are
        zero, and a bit of the stream is flipped; such a test passes if the engine finds it.
    group : In(range(len(config.codings)))
        Which of the codings.
    fault : In(1)
        Flip a bit in any case: tests other than those of :data:`FLIPPED` then fail.
    done : Out(1)
        One cycle, at the end of a test; what follows is valid until the next start.
    passed : Out(1)
        All steps found what they expected.
    raw, packed, offload, prefetch, status : Out(32)
        Bytes of the tensor and of the stream; cycles of the transfers; status of the prefetch of a flipped stream, of
        which there are no cycles. What the test has not come to is 0.
    step, seen, wanted : Out
        The step that failed, from 1 on; what it found and what it expected.
    """

    items = ENGINE_ITEMS
    counts = ("raw", "packed", "offload", "prefetch", "status")
    failure = ("step", "seen", "wanted")

    def __init__(self, config: EngineTestConfig, lines: bytes):
        self.heading = f"engine, {config.lanes} lane{'s' if config.lanes > 1 else ''} of {config.beat_bytes} bytes"
        self.groups = config.codings
        self._config = config
        self._lines = lines
        self._steps = program(config)
        self.lengths = lengths(config, len(lines))
        super().__init__({
            "start": In(1), "item": In(range(ENGINE_ITEMS)), "group": In(range(max(2, len(config.codings)))),
            "fault": In(1), "done": Out(1), "passed": Out(1),
            **{name: Out(32) for name in self.counts},
            "step": Out(range(len(self._steps) + 1)), "seen": Out(32), "wanted": Out(32),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        beats = config.raw_bytes // config.beat_bytes
        # Fill and compare take two cycles a beat, each transfer no more than four, and a step on registers some tens.
        patience = ceil_log2(16 * beats + _CYCLES * len(self._steps) + 64 * config.latency)
        m.submodules.sequencer = sequencer = Sequencer(self._steps, patience)
        m.submodules.pattern = pattern = Pattern(config, self._lines)
        # The engine has a domain of its own, whose clock is this one.
        engine = Engine(config.engine())
        m.submodules.engine = DomainRenamer({"sync": "engine"})(engine)
        clear = Signal(init=1)
        m.d.comb += [engine.aclk.eq(ClockSignal()), engine.aresetn.eq(~clear), sequencer.irq.eq(engine.irq)]
        wiring.connect(m, sequencer.bus, engine.s_axil)
        memories = self._memories(m, engine, pattern, clear)
        self._test(m, sequencer, pattern)

        flipped = self.item >= FLIPPED
        m.d.comb += [
            sequencer.start.eq(self.start), sequencer.flipped.eq(flipped), sequencer.disturbed.eq(flipped | self.fault),
            pattern.go.eq(sequencer.go), pattern.action.eq(sequencer.action),
            sequencer.over.eq(pattern.done), sequencer.wrong.eq(pattern.wrong),
            pattern.place.eq(Mux(flipped, self.item - FLIPPED, 0)), pattern.outside.eq(flipped),
            sequencer.words[Word.LINK_WRITTEN.value].eq(memories[-1].written),
            sequencer.words[Word.LINK_FAULTS.value].eq(memories[-1].faults.as_value()),
            sequencer.words[Word.DEVICE_WRITTEN.value].eq(_total([each.written for each in memories[:-1]])),
            sequencer.words[Word.DEVICE_FAULTS.value].eq(Cat(each.faults.as_value() for each in memories[:-1])),
        ]
        with m.If(self.start):
            m.d.sync += clear.eq(0)
        with m.Elif(sequencer.done):
            m.d.sync += clear.eq(~sequencer.passed)
        m.d.comb += [
            self.done.eq(sequencer.done), self.passed.eq(sequencer.passed), self.raw.eq(pattern.raw_bytes),
            *(getattr(self, name).eq(sequencer.kept[word.value]) for name, word in (
                ("packed", Word.PACKED), ("offload", Word.OFFLOAD_CYCLES), ("prefetch", Word.PREFETCH_CYCLES),
                ("status", Word.STATUS))),
            self.step.eq(sequencer.step), self.seen.eq(sequencer.seen), self.wanted.eq(sequencer.wanted),
        ]
        return m

    def _memories(self, m: Module, engine: Engine, pattern: Pattern, clear: Signal) -> list[AxiMemory]:
        """The memories of the lanes, then that of the link, between the engine and the pattern."""
        config = self._config
        n = config.beat_bytes
        room = 1 << ceil_log2(config.raw_bytes)
        devices = {f"device{lane}": AxiMemory(
            32, n, DEVICE_BASE, 2 * room, room, config.latency, block_bytes=config.block_bytes, lanes=config.lanes,
            lane=lane) for lane in range(config.lanes)}
        link = AxiMemory(32, n, LINK_BASE, -(-config.capacity // n) * n, 0, config.latency)
        memories = {**devices, "link": link}
        m.submodules.noise = noise = Noise(-(-PAUSE_BITS * len(memories) // 32))
        m.d.comb += [noise.restart.eq(self.start), noise.step.eq(1)]
        for k, (name, each) in enumerate(memories.items()):
            m.submodules[name] = ResetInserter(clear)(each)
            wiring.connect(m, getattr(pattern, name), each.local)
            port = "link" if each is link else f"lane{k}"
            wiring.connect(m, getattr(engine, f"m_axi_{port}"), each.axi)
            m.d.comb += [
                each.noise.eq(noise.bits.word_select(k, PAUSE_BITS)), each.clear.eq(self.start),
                each.writable.eq(config.capacity if each is link else pattern.raw_bytes),
            ]
        return [*memories.values()]

    def _test(self, m: Module, sequencer: Sequencer, pattern: Pattern) -> None:
        """What is tested: the first words of the descriptors, and the pattern."""
        config = self._config
        numbers = [CODINGS[name] for name in config.codings]
        coding = Signal(8)
        tag = Signal(32)
        first = {}
        for name, operation, flags in (("offload", Operation.OFFLOAD, ("interrupt",)),
                                       ("prefetch", Operation.PREFETCH, ("interrupt", "check_crc"))):
            first[name] = Signal(descriptor_layout(), name=f"{name}_descriptor")
            m.d.comb += [first[name].operation.eq(operation), first[name].coding.eq(coding),
                         *(first[name].flags[flag].eq(1) for flag in flags)]
        with m.If(self.start):
            m.d.sync += tag.eq(tag + 1)
        m.d.comb += [
            coding.eq(Array(numbers)[self.group]),
            pattern.item.eq(Mux(self.item < FLIPPED, self.item, _HALF)),
            pattern.element.eq(coding[:3]),
            pattern.floats.eq(coding[5]),
            pattern.raw_bytes.eq(Array(self.lengths)[self.item]),
            sequencer.words[Word.OFFLOAD.value].eq(first["offload"].as_value()[:32]),
            sequencer.words[Word.PREFETCH.value].eq(first["prefetch"].as_value()[:32]),
            sequencer.words[Word.TAG.value].eq(tag),
            sequencer.words[Word.RAW.value].eq(pattern.raw_bytes),
            sequencer.words[Word.NONZERO.value].eq(pattern.nonzero),
        ]


def _total(counts: list[Value]) -> Value:
    """Their sum."""
    return counts[0] if len(counts) == 1 else _total(counts[1:]) + counts[0]
