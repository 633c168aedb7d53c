"""AXI4-Stream: a source that drives packets, and a sink that takes and checks them.

Both act on every rising edge. They read the values from before the edge, as the design's registers do; what they write
is applied after the edge. In each cycle they only read and write texts of bits, so that a million beats take about ten
seconds.
"""

from __future__ import annotations

import os
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import cocotb
import numpy as np
from cocotb.task import Task
from cocotb.triggers import RisingEdge

from cdma.verif.common.stream import Beat, Bytes, Packet, Received, beats, from_texts

__all__ = ["Pin", "Sink", "Source"]

_CHUNK = 4096
_AS_ZERO = str.maketrans("XxZzUu", "000000")


class Pin:
    """A signal that is read and written as text, most significant bit first.

    Where cocotb trusts the simulator to apply writes after the edge (Verilator), it goes straight to the handle, three
    times as fast as cocotb's value objects; elsewhere cocotb schedules the write.

    Members
    -------
    read
        Reads the signal.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.read: Callable[[], str] = handle._handle.get_signal_val_binstr
        self._set: Callable[[int, str], None] = handle._handle.set_signal_val_binstr
        self._direct = os.environ.get("COCOTB_TRUST_INERTIAL_WRITES") == "1"

    def write(self, text: str) -> None:
        """Write the signal, to be seen after this edge."""
        if self._direct:
            self._set(0, text)
        else:
            self._handle.value = text


class _Side:
    """A side of a stream: one coroutine that can be started and killed, and the pattern of its pauses."""

    def __init__(self) -> None:
        self.stalls: Iterator[int] = repeat(0)
        self._task: Task[None] | None = None

    def start(self) -> None:
        """Begin to act, from the state after a reset."""
        self._task = cocotb.start_soon(self._run())

    def stop(self) -> None:
        """Stop acting, and discard packets that are not finished."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        raise NotImplementedError


class Source(_Side):
    """Drives packets into ``s_axis``, back to back but for the pauses of its pattern.

    Parameters
    ----------
    dut
        The top module.
    beat_bytes
        Bytes of a beat.
    sent
        Called with every packet when its first beat is put on the pins.

    Members
    -------
    queue
        The packets to send.
    stalls
        The pattern of pauses; may be replaced between packets.
    """

    def __init__(self, dut: Any, beat_bytes: int, sent: Callable[[Packet], None]) -> None:
        super().__init__()
        self.queue: deque[Packet] = deque()
        self.beat_bytes = beat_bytes
        self._sent = sent
        self._clock = dut.aclk
        self._pins = tuple(Pin(getattr(dut, f"s_axis_{name}")) for name in ("tdata", "tkeep", "tlast", "tuser"))
        self._valid, self._ready = Pin(dut.s_axis_tvalid), Pin(dut.s_axis_tready)
        # The design must ignore the pins while tvalid is low: they have the values that do the most harm if read.
        self._rest: Beat = ("1" * 8 * beat_bytes, "01" * (beat_bytes // 2), "1",
                            "1" * len(self._pins[3].read()))

    def stop(self) -> None:
        """Stop, and forget the queue."""
        super().stop()
        self.queue.clear()

    def idle(self) -> None:
        """Drive the idle values."""
        self._valid.write("0")
        for pin, text in zip(self._pins, self._rest, strict=True):
            pin.write(text)

    async def _run(self) -> None:
        edge = RisingEdge(self._clock)
        valid, ready = self._valid.write, self._ready.read
        data, keep, last, user = (pin.write for pin in self._pins)
        old_keep, old_last, old_user = self._rest[1:]
        stream: Iterator[Beat] = iter(())
        taken = array("q")
        cycle, offered = 0, False
        while True:
            await edge
            cycle += 1
            if offered:
                answer = ready()
                if answer == "0":
                    continue
                if answer != "1":
                    raise AssertionError(f"tready is {answer!r} in cycle {cycle}")
                taken.append(cycle)
            beat = None
            if not next(self.stalls):
                beat = next(stream, None)
                if beat is None and self.queue:
                    packet = self.queue.popleft()
                    self._sent(packet)
                    stream, taken = beats(packet, self.beat_bytes), packet.cycles
                    beat = next(stream)
            if beat is None:
                if offered:
                    self.idle()
                    old_keep, old_last, old_user = self._rest[1:]
                    offered = False
                continue
            text, new_keep, new_last, new_user = beat
            data(text)
            if new_keep != old_keep:
                keep(new_keep)
                old_keep = new_keep
            if new_last != old_last:
                last(new_last)
                old_last = new_last
            if new_user != old_user:
                user(new_user)
                old_user = new_user
            if not offered:
                valid("1")
                offered = True


class Sink(_Side):
    """Takes packets from ``m_axis``, with the pauses of its pattern, and checks the protocol.

    Rules: valid is known; once it is high, it and its payload are held until ready; all bytes are kept before the last
    beat, and only the first ones in the last beat; no bit of a kept byte is unknown; where there is a tuser, it is the
    same on all beats of a packet.

    Parameters
    ----------
    dut
        The top module.
    beat_bytes
        Bytes of a beat.
    notify
        Called with every packet.
    fault
        Called with a sentence for everything that breaks the protocol.
    progress
        Called now and then with the number of beats taken so far.

    Members
    -------
    stalls
        The pattern of pauses.
    """

    def __init__(self, dut: Any, beat_bytes: int, notify: Callable[[Received], None], fault: Callable[[str], None],
                 progress: Callable[[int], None] | None = None) -> None:
        super().__init__()
        self.beat_bytes = beat_bytes
        self._notify = notify
        self._fault = fault
        self._progress = progress or (lambda beats: None)
        self._clock = dut.aclk
        self._names = [name for name in ("m_axis_tdata", "m_axis_tkeep", "m_axis_tlast", "m_axis_tuser")
                       if hasattr(dut, name)]
        self._fixed = len(self._names)
        self._names += [name for name in ("error_code", "error_line") if hasattr(dut, name)]
        self._pins = [Pin(getattr(dut, name)) for name in self._names]
        self._valid, self._ready = Pin(dut.m_axis_tvalid), Pin(dut.m_axis_tready)

    def idle(self) -> None:
        """Drive the idle values."""
        self._ready.write("0")

    def quiet(self) -> bool:
        """Whether valid is low, as it must be in reset."""
        return self._valid.read() == "0"

    async def _run(self) -> None:
        edge = RisingEdge(self._clock)
        valid, ready = self._valid.read, self._ready.write
        data, keep, last = (pin.read for pin in self._pins[:3])
        user = self._pins[3].read if self._fixed > 3 else None
        users: set[str] = set()
        ones = "1" * self.beat_bytes
        texts: list[str] = []
        parts: list[Bytes] = []
        taken = array("q")
        held: list[str] | None = None
        cycle, total, open_ = 0, 0, False
        while True:
            await edge
            cycle += 1
            offered = valid()
            if offered == "1":
                if held is not None:
                    self._compare(cycle, held, self._payload())
                    held = None
                if open_:
                    taken.append(cycle)
                    texts.append(data())
                    if user is not None:
                        users.add(user())
                    ended = last()
                    if ended == "1":
                        total += len(texts)
                        self._finish(texts, parts, taken, users)
                        texts, parts, taken, users = [], [], array("q"), set()
                        self._progress(total)
                    elif ended != "0":
                        self._fault(f"tlast is {ended!r} in cycle {cycle}")
                    elif keep() != ones:
                        self._fault(f"tkeep before a last beat is not all ones in cycle {cycle}: {_shown(keep())}")
                    elif len(texts) == _CHUNK:
                        total += _CHUNK
                        parts.append(self._bytes(texts))
                        texts = []
                        self._progress(total)
                else:
                    held = self._payload()
            elif offered != "0":
                self._fault(f"tvalid is {offered!r} in cycle {cycle}")
            elif held is not None:
                self._fault(f"tvalid fell in cycle {cycle} before tready took the beat")
                held = None
            if next(self.stalls):
                if open_:
                    ready("0")
                    open_ = False
            elif not open_:
                ready("1")
                open_ = True

    def _payload(self) -> list[str]:
        # The error pins belong to the last beat.
        count = len(self._pins) if self._pins[2].read() == "1" else self._fixed
        return [pin.read() for pin in self._pins[:count]]

    def _compare(self, cycle: int, held: list[str], now: list[str]) -> None:
        for name, before, after in zip(self._names, held, now, strict=False):
            if before != after:
                self._fault(f"{name} changed in cycle {cycle} before tready took the beat: "
                            f"{_shown(before)} to {_shown(after)}")

    def _bytes(self, texts: list[str], kept: int | None = None) -> Bytes:
        try:
            return from_texts(texts, self.beat_bytes, kept)
        except ValueError as error:
            self._fault(str(error))
            known = [text.translate(_AS_ZERO) for text in texts]
            return from_texts(known, self.beat_bytes, kept)

    def _finish(self, texts: list[str], parts: list[Bytes], taken: array[int], users: set[str]) -> None:
        keep = self._pins[1].read()
        kept = keep.count("1")
        if keep != ("1" * kept).rjust(self.beat_bytes, "0"):
            self._fault(f"tkeep of a last beat does not keep the first bytes: {_shown(keep)}")
        if len(users) > 1:
            self._fault(f"tuser changed within a packet: {', '.join(map(_shown, sorted(users)))}")
        user = self._number("tuser", users.pop()) if users else 0
        values = [self._number(name, pin.read())
                  for name, pin in zip(self._names[self._fixed:], self._pins[self._fixed:], strict=True)]
        error, line = (*values, 0, 0)[:2]
        self._notify(Received(np.concatenate([*parts, self._bytes(texts, kept)]), error, line, taken, user))

    def _number(self, name: str, text: str) -> int:
        if set(text) <= {"0", "1"}:
            return int(text, 2)
        self._fault(f"{name} is {text} beside a last beat")
        return 0


def _shown(text: str) -> str:
    """Bits for a message: in hexadecimal when all are known."""
    return f"0x{int(text, 2):0{-(-len(text) // 4)}x}" if set(text) <= {"0", "1"} else text
