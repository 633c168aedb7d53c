"""What the sequencer of the engine's self-test does, step by step: the program of a trial, as a table.

A trial takes a tensor to the link and back. The last column says in which trials a step is done: *right* are those with
an undisturbed stream, *flipped* those in which a byte of it is changed on purpose. A number in brackets is how many
steps a row stands for.

=== ==================================================================== =======
row what is done                                                         trials
=== ==================================================================== =======
1   read MAGIC, expect its value
2   enable all interrupts
3   fill: the data to their source; their inverse to the destinations
4   write the descriptor of the offload [16]
5   ring the doorbell, wait for the interrupt [2]
6   IRQ_STATUS: only the completion's bit; one completion [2]
7   completion: tag, operation and status OK [2]
8   completion: keep CRC, raw blocks and bytes; the upper bytes are 0 [4]
9   completion: the elements that were counted when the data were filled in [2]
10  completion: keep the cycles
11  link memory has got as many bytes as the completion says
12  remove the completion: none is left [2]
13  clear the interrupt: none is left [2]
14  flip a bit in link memory (also when the button was pressed)         flipped
15  write the descriptor of the prefetch, which checks the CRC [16]
16  ring the doorbell, wait for the interrupt [2]
17  IRQ_STATUS: the completion's bit, and no other                       right
18  IRQ_STATUS: the completion's and the error's bit                     flipped
19  one completion; its tag [2]
20  completion: operation and status OK                                  right
21  completion: the stream is malformed, or its CRC is wrong             flipped
22  completion: the same CRC and raw blocks as of the offload [2]        right
23  completion: the raw length                                           right
24  completion: no bytes                                                 flipped
25  completion: no elements [2]
26  completion: keep the cycles                                          right
27  device memory has got as many bytes as the tensor has                right
28  remove the completion and clear the interrupt: none left [4]
29  compare: the tensor (right), and the inverse behind it
30  no memory has seen a wrong burst, or a byte outside its window [2]
31  end
=== ==================================================================== =======

The first step that finds something else than it expects ends the trial, which has failed; its number is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    return [{"action": each.action, "register": each.register // 4, "word": each.word, "other": each.other,
             "trials": each.trials, "literal": each.literal} for each in steps]


def program_rows() -> list[tuple[int, str]]:
    """The rows of the table in this file's first lines: number of the first step, and what is done."""
    rows: list[tuple[int, str]] = []
    step = 1
    for text in re.findall(r"^\d+ +(\S.*)$", __doc__ or "", re.MULTILINE):
        what, _, trials = (part.strip() for part in text.partition("  "))
        several = re.search(r" \[(\d+)\]", what)
        rows.append((step, what.replace(several[0], "") if several else what))
        if trials:
            rows[-1] = step, f"{rows[-1][1]} ({trials})"
        step += int(several[1]) if several else 1
    return rows


def program(config: EngineTestConfig) -> list[Step]:
    """The steps of a trial; the table is in this file's first lines."""
    room = 1 << (config.raw_bytes - 1).bit_length()
    source, destination = DEVICE_BASE, DEVICE_BASE + room
    named = {register.name: register for register in registers(config.engine())}

    def write(name: str, literal: int, trials: Trials = Trials.ALL) -> Step:
        return Step(Action.WRITE, named[name].offset, literal=literal, trials=trials)

    def read(name: str, literal: int, trials: Trials = Trials.ALL) -> Step:
        return Step(Action.READ, named[name].offset, literal=literal, trials=trials)

    def read_word(name: str, word: Word, trials: Trials = Trials.ALL) -> Step:
        return Step(Action.READ, named[name].offset, word, trials=trials)

    def keep(name: str, word: Word, trials: Trials = Trials.ALL) -> Step:
        return Step(Action.KEEP, named[name].offset, word, trials=trials)

    def same(word: Word, other: Word, trials: Trials = Trials.ALL) -> Step:
        return Step(Action.SAME, word=word, other=other, trials=trials)

    def descriptor(direction: str, fields: dict[str, int | Word]) -> Iterator[Step]:
        """Writes all words; fields that are not named are zero."""
        first = Word.OFFLOAD if direction == "offload" else Word.PREFETCH
        words: dict[int, Step] = {}
        for name, value in fields.items():
            place = descriptor_layout()[name].offset // 32
            offset = named[f"{direction.upper()}_DESCRIPTOR_{place}"].offset
            words[place] = (Step(Action.WRITE, offset, value) if isinstance(value, Word) else
                            Step(Action.WRITE, offset, literal=value))
        words[0] = Step(Action.WRITE, named[f"{direction.upper()}_DESCRIPTOR_0"].offset, first)
        for place in range(RECORD_WORDS):
            yield words.get(place, write(f"{direction.upper()}_DESCRIPTOR_{place}", 0))

    def completion(direction: str, field: str, part: int = 0) -> str:
        """The register of a field of the completion."""
        return f"{direction.upper()}_COMPLETION_{completion_layout()[field].offset // 32 + part}"

    def ends(direction: str) -> Iterator[Step]:
        """Removes the completion and clears the interrupt."""
        page = direction.upper()
        yield write(f"{page}_COMPLETION_POP", 1)
        yield read(f"{page}_COMPLETIONS", 0)
        yield write("IRQ_STATUS", every)
        yield read("IRQ_STATUS", 0)

    def status(operation: Operation) -> int:
        """The completion's word of status and operation, with the status OK."""
        at = completion_layout()["status"].offset // 32 * 32
        return (operation.value << (completion_layout()["operation"].offset - at)
                | Status.OK.value << (completion_layout()["status"].offset - at))

    every = sum(field.mask for field in named["IRQ_ENABLE"].fields)
    right, flipped = Trials.RIGHT, Trials.FLIPPED
    capacity = config.capacity
    return [
        read("MAGIC", MAGIC),
        write("IRQ_ENABLE", every),
        Step(Action.FILL),
        *descriptor("offload", {"tag": Word.TAG, "source": source, "destination": LINK_BASE, "raw_bytes": Word.RAW,
                                "capacity": capacity}),
        write("OFFLOAD_DOORBELL", 1),
        Step(Action.WAIT),
        read("IRQ_STATUS", _events(named["IRQ_STATUS"], "offload", "COMPLETION")),
        read("OFFLOAD_COMPLETIONS", 1),
        read_word(completion("offload", "tag"), Word.TAG),
        read(completion("offload", "status"), status(Operation.OFFLOAD)),
        keep(completion("offload", "crc"), Word.CRC),
        keep(completion("offload", "raw_blocks"), Word.RAW_BLOCKS),
        keep(completion("offload", "bytes"), Word.PACKED),
        read(completion("offload", "bytes", 1), 0),
        read_word(completion("offload", "nonzero"), Word.NONZERO),
        read(completion("offload", "nonzero", 1), 0),
        keep(completion("offload", "cycles"), Word.OFFLOAD_CYCLES),
        same(Word.LINK_WRITTEN, Word.PACKED),
        *ends("offload"),
        Step(Action.FLIP, trials=Trials.DISTURBED),
        *descriptor("prefetch", {"tag": Word.TAG, "source": LINK_BASE, "destination": destination,
                                 "raw_bytes": Word.RAW, "capacity": Word.RAW, "packed_bytes": Word.PACKED,
                                 "crc": Word.CRC}),
        write("PREFETCH_DOORBELL", 1),
        Step(Action.WAIT),
        read("IRQ_STATUS", _events(named["IRQ_STATUS"], "prefetch", "COMPLETION"), right),
        read("IRQ_STATUS", _events(named["IRQ_STATUS"], "prefetch", "COMPLETION", "ERROR"), flipped),
        read("PREFETCH_COMPLETIONS", 1),
        read_word(completion("prefetch", "tag"), Word.TAG),
        read(completion("prefetch", "status"), status(Operation.PREFETCH), right),
        Step(Action.MALFORMED, named[completion("prefetch", "status")].offset, Word.STATUS, trials=flipped),
        read_word(completion("prefetch", "crc"), Word.CRC, right),
        read_word(completion("prefetch", "raw_blocks"), Word.RAW_BLOCKS, right),
        read_word(completion("prefetch", "bytes"), Word.RAW, right),
        read(completion("prefetch", "bytes"), 0, flipped),
        read(completion("prefetch", "nonzero"), 0),
        read(completion("prefetch", "nonzero", 1), 0),
        keep(completion("prefetch", "cycles"), Word.PREFETCH_CYCLES, right),
        same(Word.DEVICE_WRITTEN, Word.RAW, right),
        *ends("prefetch"),
        Step(Action.COMPARE),
        same(Word.LINK_FAULTS, Word.LITERAL),
        same(Word.DEVICE_FAULTS, Word.LITERAL),
        Step(Action.END),
    ]


def _events(register: Register, direction: str, *causes: str) -> int:
    """Bits of IRQ_STATUS."""
    return sum(field.mask for field in register.fields
               if field.name in {f"{direction.upper()}_{cause}" for cause in causes})
