"""Malformed block streams on the vectorised model, against the plain reference: the same verdict, or the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.errors import StreamError
from cdma.golden.reference.blocks import Reader
from cdma.golden.reference.lines import MalformedError
from cdma.verif.common.stream import Bytes
from cdma.verif.common.tensors import random_values
from cdma.verif.engine.stimulus import damage

__all__ = ["StreamCase", "check_streams", "judge", "stream_cases"]

_BLOCKS = (512, 512, 512, 1024, 2048)
_DENSITIES = (0.0, 0.1, 0.4, 0.7, 1.0)
_BATCH = 64

Verdict = bytes | tuple[str, int, int | None, int | None]
"""The raw bytes, or reason, byte, line and block of the first fault."""


class StreamCase(NamedTuple):
    """A stream with damage of a kind, and what its reader knows, as :func:`cdma.golden.codec.blocks.decompress`."""

    kind: str
    stream: Bytes
    block_bytes: int
    raw_bytes: int | None
    coding: int | None


def stream_cases(seed: int) -> Iterator[StreamCase]:
    """Damaged streams without end, the same for the same seed: all codings, one to four blocks, every kind of damage,
    and noise."""
    rng = np.random.default_rng(seed)
    while True:
        made, about = [], []
        for _ in range(_BATCH):
            coding = Coding(int(rng.choice([each for each in Coding if each.value])))
            block_bytes = int(_BLOCKS[int(rng.integers(len(_BLOCKS)))])
            size = coding.element_bytes
            count = int(rng.integers(1, 4 * block_bytes // size))
            raw = random_values(rng, coding, count, float(rng.choice(_DENSITIES)))
            made.append((blocks.compress(raw, coding, block_bytes, bool(rng.random() < 0.7)), block_bytes))
            about.append((raw.size, int(coding)))
        order = rng.permutation(_BATCH)
        for kind, number, spoiled in damage(rng, [made[at] for at in order]):
            raw_bytes, coding = about[order[number]]
            yield StreamCase(kind, spoiled, made[order[number]][1], raw_bytes if rng.random() < 0.7 else None,
                             coding if rng.random() < 0.7 else None)


def judge(case: StreamCase) -> tuple[Verdict, Verdict]:
    """What the vectorised model and the plain reference say of a stream."""
    golden: Verdict
    plain: Verdict
    try:
        golden = blocks.decompress(case.stream, case.block_bytes, case.raw_bytes, coding=case.coding).tobytes()
    except StreamError as error:
        golden = error.reason.name, error.offset, error.line, error.block
    try:
        plain = Reader(case.stream.tobytes(), case.block_bytes, case.raw_bytes, case.coding).read()
    except MalformedError as error:
        reason, offset, line, block = error.fault
        plain = reason, offset, line, block
    return golden, plain


def check_streams(count: int, seed: int, progress: Callable[[int], None] | None = None,
                  until: Callable[[], bool] | None = None) -> tuple[int, list[str]]:
    """Judge so many malformed streams with both; returns how many, and a sentence for each that they judge differently.

    Parameters
    ----------
    count
        Streams at most.
    seed
        Of the streams.
    progress
        Called now and then with the number that was judged.
    until
        Says when to stop early.
    """
    done = 0
    failures: list[str] = []
    for number, case in enumerate(stream_cases(seed)):
        if number >= count or (number % _BATCH == 0 and until is not None and until()):
            break
        golden, plain = judge(case)
        if golden != plain:
            failures.append(f"stream {number} of seed {seed} ({case.kind}): the model says {_shown(golden)}, the "
                            f"reference {_shown(plain)}")
        done = number + 1
        if progress is not None and done % _BATCH == 0:
            progress(done)
    return done, failures


def _shown(verdict: Verdict) -> str:
    return f"{len(verdict)} raw bytes" if isinstance(verdict, bytes) else (
        f"{verdict[0]} at byte {verdict[1]}, line {verdict[2]}, block {verdict[3]}")
