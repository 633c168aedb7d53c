"""What the sequencer of the engine's self-test does, step by step: the program of a trial, as a table.

A trial takes a tensor to the link and back. Some steps are done only if the stream is undisturbed (*right*), others
only if a byte of it is changed on purpose (*flipped*).

The first step that finds something else than it expects ends the trial, which has failed; its number is printed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from amaranth.lib import data, enum

from cdma.hdl.engine.control.descriptor import RECORD_WORDS, Operation, completion_layout, descriptor_layout
from cdma.hdl.engine.control.register import Register
from cdma.hdl.engine.control.table import ADDRESS_BITS, MAGIC, registers
from cdma.hdl.engine.transfer.records import Status
from cdma.hdl.selftest.config import EngineTestConfig

__all__ = ["DEVICE_BASE", "LINK_BASE", "Action", "Step", "Trials", "Word", "encode_steps", "program",
           "program_rows", "step_layout"]

DEVICE_BASE = 0x1000_0000
"""Address of the first byte of device memory."""

LINK_BASE = 0x2000_0000
"""Address of the first byte of link memory."""

MALFORMED = range(Status.BAD_CODING.value, Status.BAD_PAYLOAD.value + 1)
"""Status codes of a stream that is malformed."""


class Action(enum.Enum, shape=4):
    """What a step does."""

    WRITE = 0
    """Write a word to a register."""
    READ = 1
    """Read a register and expect a word."""
    KEEP = 2
    """Read a register and keep what it holds as a word."""
    MALFORMED = 3
    """Read a register and expect a status of a malformed stream or of a wrong CRC, below the word."""
    SAME = 4
    """Expect that two words are the same."""
    WAIT = 5
    """Wait for the interrupt."""
    FILL = 6
    """Fill the memories."""
    FLIP = 7
    """Flip a bit in link memory."""
    COMPARE = 8
    """Compare device memory with what it must hold."""
    END = 9
    """The trial has passed."""


class Trials(enum.Enum, shape=2):
    """The trials in which a step is done."""

    ALL = 0
    RIGHT = 1
    FLIPPED = 2
    DISTURBED = 3
    """With a flipped byte, on purpose or because the button was pressed."""


class Word(enum.Enum, shape=4):
    """The words that steps write, expect and keep."""

    LITERAL = 0
    """The one in the step."""
    OFFLOAD = 1
    """First word of the descriptor of the offload."""
    PREFETCH = 2
    """First word of the descriptor of the prefetch."""
    TAG = 3
    """Number of the trial."""
    RAW = 4
    """Bytes of the tensor."""
    NONZERO = 5
    """Elements that are not zero."""
    PACKED = 6
    CRC = 7
    RAW_BLOCKS = 8
    OFFLOAD_CYCLES = 9
    PREFETCH_CYCLES = 10
    STATUS = 11
    LINK_WRITTEN = 12
    """Bytes that link memory has got."""
    DEVICE_WRITTEN = 13
    """Bytes that device memory has got."""
    LINK_FAULTS = 14
    DEVICE_FAULTS = 15


@dataclass(frozen=True)
class Step:
    """A step.

    Parameters
    ----------
    action : Action
        What is done.
    register : int
        Byte offset of the register.
    word : Word
        What is written, expected or kept.
    literal : int
        The word, if it is in the step.
    other : Word
        What is compared with the word.
    trials : Trials
        When.
    """

    action: Action
    register: int = 0
    word: Word = Word.LITERAL
    literal: int = 0
    other: Word = Word.LITERAL
    trials: Trials = Trials.ALL


def step_layout() -> data.StructLayout:
    """A step in the sequencer's memory; ``register`` counts words."""
    return data.StructLayout({"action": Action, "register": ADDRESS_BITS - 2, "word": Word, "other": Word,
                              "trials": Trials, "literal": 32})


def encode_steps(steps: Sequence[Step]) -> list[Any]:
    """The rows of the sequencer's memory."""
    return [{**vars(each), "register": each.register // 4} for each in steps]


def program_rows(config: EngineTestConfig) -> list[tuple[int, str]]:
    """The rows of the table: number of the first step, and what is done."""
    numbers = itertools.accumulate((len(steps) for _, steps in _table(config)), initial=1)
    return [(number, what) for number, (what, _) in zip(numbers, _table(config), strict=False)]


def program(config: EngineTestConfig) -> list[Step]:
    """The steps of a trial."""
    return [step for _, steps in _table(config) for step in steps]


def _table(config: EngineTestConfig) -> list[tuple[str, list[Step]]]:
    """What is done, and by which steps."""
    room = 1 << (config.raw_bytes - 1).bit_length()
    source, destination = DEVICE_BASE, DEVICE_BASE + room
    named = {register.name: register for register in registers(config.engine())}

    def access(action: Action, name: str, value: int | Word, trials: Trials = Trials.ALL) -> Step:
        word, literal = (value, 0) if isinstance(value, Word) else (Word.LITERAL, value)
        return Step(action, named[name].offset, word, literal, trials=trials)

    write, read, keep = (partial(access, action) for action in (Action.WRITE, Action.READ, Action.KEEP))

    def same(word: Word, other: Word, trials: Trials = Trials.ALL) -> Step:
        return Step(Action.SAME, word=word, other=other, trials=trials)

    def descriptor(direction: str, first: Word, fields: dict[str, int | Word]) -> list[Step]:
        """Writes all words; fields that are not named are zero."""
        words = {descriptor_layout()[name].offset // 32: value for name, value in fields.items()} | {0: first}
        return [write(f"{direction.upper()}_DESCRIPTOR_{place}", words.get(place, 0)) for place in range(RECORD_WORDS)]

    def completion(direction: str, field: str, part: int = 0) -> str:
        """The register of a field of the completion."""
        return f"{direction.upper()}_COMPLETION_{completion_layout()[field].offset // 32 + part}"

    def status(operation: Operation) -> int:
        """The completion's word of status and operation, with the status OK."""
        at = completion_layout()["status"].offset // 32 * 32
        return (operation.value << (completion_layout()["operation"].offset - at)
                | Status.OK.value << (completion_layout()["status"].offset - at))

    every = sum(field.mask for field in named["IRQ_ENABLE"].fields)
    right, flipped = Trials.RIGHT, Trials.FLIPPED
    return [
        ("read MAGIC, expect its value", [read("MAGIC", MAGIC)]),
        ("enable all interrupts", [write("IRQ_ENABLE", every)]),
        ("fill: the data to their source; their inverse to the destinations", [Step(Action.FILL)]),
        ("write the descriptor of the offload", descriptor("offload", Word.OFFLOAD, {
            "tag": Word.TAG, "source": source, "destination": LINK_BASE, "raw_bytes": Word.RAW,
            "capacity": config.capacity})),
        ("ring the doorbell, wait for the interrupt", [write("OFFLOAD_DOORBELL", 1), Step(Action.WAIT)]),
        ("IRQ_STATUS: only the completion's bit; one completion", [
            read("IRQ_STATUS", _events(named["IRQ_STATUS"], "offload", "COMPLETION")),
            read("OFFLOAD_COMPLETIONS", 1)]),
        ("completion: tag, operation and status OK", [
            read(completion("offload", "tag"), Word.TAG),
            read(completion("offload", "status"), status(Operation.OFFLOAD))]),
        ("completion: keep CRC, raw blocks and bytes; the upper bytes are 0", [
            keep(completion("offload", "crc"), Word.CRC),
            keep(completion("offload", "raw_blocks"), Word.RAW_BLOCKS),
            keep(completion("offload", "bytes"), Word.PACKED),
            read(completion("offload", "bytes", 1), 0)]),
        ("completion: the elements that were counted when the data were filled in", [
            read(completion("offload", "nonzero"), Word.NONZERO),
            read(completion("offload", "nonzero", 1), 0)]),
        ("completion: keep the cycles", [keep(completion("offload", "cycles"), Word.OFFLOAD_CYCLES)]),
        ("link memory has got as many bytes as the completion says", [same(Word.LINK_WRITTEN, Word.PACKED)]),
        ("remove the completion: none is left", [write("OFFLOAD_COMPLETION_POP", 1), read("OFFLOAD_COMPLETIONS", 0)]),
        ("clear the interrupt: none is left", [write("IRQ_STATUS", every), read("IRQ_STATUS", 0)]),
        ("flip a bit in link memory, also when the button was pressed (flipped)", [
            Step(Action.FLIP, trials=Trials.DISTURBED)]),
        ("write the descriptor of the prefetch, which checks the CRC", descriptor("prefetch", Word.PREFETCH, {
            "tag": Word.TAG, "source": LINK_BASE, "destination": destination, "raw_bytes": Word.RAW,
            "capacity": Word.RAW, "packed_bytes": Word.PACKED, "crc": Word.CRC})),
        ("ring the doorbell, wait for the interrupt", [write("PREFETCH_DOORBELL", 1), Step(Action.WAIT)]),
        ("IRQ_STATUS: the completion's bit, and no other (right)", [
            read("IRQ_STATUS", _events(named["IRQ_STATUS"], "prefetch", "COMPLETION"), right)]),
        ("IRQ_STATUS: the completion's and the error's bit (flipped)", [
            read("IRQ_STATUS", _events(named["IRQ_STATUS"], "prefetch", "COMPLETION", "ERROR"), flipped)]),
        ("one completion; its tag", [
            read("PREFETCH_COMPLETIONS", 1),
            read(completion("prefetch", "tag"), Word.TAG)]),
        ("completion: operation and status OK (right)", [
            read(completion("prefetch", "status"), status(Operation.PREFETCH), right)]),
        ("completion: the stream is malformed, or its CRC is wrong (flipped)", [
            Step(Action.MALFORMED, named[completion("prefetch", "status")].offset, Word.STATUS, trials=flipped)]),
        ("completion: the same CRC and raw blocks as of the offload (right)", [
            read(completion("prefetch", "crc"), Word.CRC, right),
            read(completion("prefetch", "raw_blocks"), Word.RAW_BLOCKS, right)]),
        ("completion: the raw length (right)", [read(completion("prefetch", "bytes"), Word.RAW, right)]),
        ("completion: no bytes (flipped)", [read(completion("prefetch", "bytes"), 0, flipped)]),
        ("completion: no elements", [
            read(completion("prefetch", "nonzero"), 0),
            read(completion("prefetch", "nonzero", 1), 0)]),
        ("completion: keep the cycles (right)", [
            keep(completion("prefetch", "cycles"), Word.PREFETCH_CYCLES, right)]),
        ("device memory has got as many bytes as the tensor has (right)", [
            same(Word.DEVICE_WRITTEN, Word.RAW, right)]),
        ("remove the completion and clear the interrupt: none left", [
            write("PREFETCH_COMPLETION_POP", 1), read("PREFETCH_COMPLETIONS", 0),
            write("IRQ_STATUS", every), read("IRQ_STATUS", 0)]),
        ("compare: the tensor (right), and the inverse behind it", [Step(Action.COMPARE)]),
        ("no memory has seen a wrong burst, or a byte outside its window", [
            same(Word.LINK_FAULTS, Word.LITERAL),
            same(Word.DEVICE_FAULTS, Word.LITERAL)]),
        ("end", [Step(Action.END)]),
    ]


def _events(register: Register, direction: str, *causes: str) -> int:
    """Bits of IRQ_STATUS."""
    return sum(field.mask for field in register.fields
               if field.name in {f"{direction.upper()}_{cause}" for cause in causes})
