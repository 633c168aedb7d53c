"""Packets as beats: bytes to the texts of bits that wide pins are written with, and back, whole arrays at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["Beat", "Bytes", "Packet", "Received", "beats", "from_texts", "to_texts"]

Bytes = npt.NDArray[np.uint8]
"""Bytes of a packet, one-dimensional."""

Beat = tuple[str, str, str, str]
"""The texts of tdata, tkeep, tlast and tuser, most significant bit first."""

_CHUNK = 4096


@dataclass
class Packet:
    """A packet to send.

    Parameters
    ----------
    data
        Its bytes.
    element_bytes
        Bytes of an element.
    about
        What it is for, for messages.
    empty_tail
        End with a beat that keeps no byte although the last byte would fill a beat.
    noise
        Seed of random values for all that a core must not read: ``tkeep`` before the last beat, ``tuser`` after the
        first, bytes that are not kept. Without a seed those are ones, the element size, and zeros.

    Members
    -------
    cycles
        The cycles its beats were taken in, filled while it is sent.
    """

    data: Bytes
    element_bytes: int
    about: str = ""
    empty_tail: bool = False
    noise: int | None = None
    cycles: array[int] = field(default_factory=lambda: array("q"), repr=False)

    def __str__(self) -> str:
        about = f"{self.about}, " if self.about else ""
        return f"{about}{self.data.size} bytes of {8 * self.element_bytes}-bit elements"

    @property
    def user(self) -> int:
        """What ``tuser`` says."""
        return self.element_bytes

    @property
    def user_bits(self) -> int:
        """Bits of ``tuser``."""
        return 3


@dataclass
class Received:
    """A packet that came out.

    Parameters
    ----------
    data
        Its kept bytes.
    error
        The error code beside its last beat.
    line
        The error line beside its last beat; 0 for a core that has none.
    cycles
        The cycles its beats were taken in.
    user
        The ``tuser`` of all its beats; 0 for a core that gives none.
    """

    data: Bytes
    error: int
    line: int
    cycles: array[int] = field(repr=False)
    user: int = 0

    def __str__(self) -> str:
        return f"a packet of {self.data.size} bytes with error code {self.error}"


def to_texts(data: Bytes, beat_bytes: int) -> list[str]:
    """The texts of whole beats; byte 0 of a beat is its least significant.

    Parameters
    ----------
    data
        A multiple of ``beat_bytes`` bytes.
    """
    width = 8 * beat_bytes
    bits = np.unpackbits(data.reshape(-1, beat_bytes)[:, ::-1], axis=1)
    text = (bits + ord("0")).tobytes().decode("ascii")
    return [text[at:at + width] for at in range(0, len(text), width)]


def from_texts(texts: list[str], beat_bytes: int, kept: int | None = None) -> Bytes:
    """The bytes of the texts of beats.

    Parameters
    ----------
    kept
        How many bytes of the last text count; all when not given. What does not count may be unknown.

    Raises
    ------
    ValueError
        If a bit that counts is neither 0 nor 1.
    """
    characters = np.frombuffer("".join(texts).encode("ascii"), np.uint8).reshape(-1, 8 * beat_bytes)
    if kept is not None and kept < beat_bytes:
        characters = characters.copy()
        characters[-1, :8 * (beat_bytes - kept)] = ord("0")
    if ((characters | 1) != ord("1")).any():
        beat = int(np.flatnonzero(((characters | 1) != ord("1")).any(axis=1))[0])
        raise ValueError(f"beat {beat} holds an unknown bit: tdata is {texts[beat]}")
    data = np.packbits(characters & 1, axis=1)[:, ::-1].ravel()
    return data if kept is None else data[:data.size - (beat_bytes - kept)]


def beats(packet: Packet, beat_bytes: int) -> Iterator[Beat]:
    """The beats of a packet, made in chunks so that a large one costs little memory.

    Raises
    ------
    ValueError
        If the packet asks for an empty tail that its length does not allow.
    """
    size = packet.data.size
    whole, rest = divmod(size, beat_bytes)
    if packet.empty_tail and rest:
        raise ValueError(f"a packet of {size} bytes does not fill its beats of {beat_bytes} bytes: no empty tail")
    if not (rest or packet.empty_tail or size == 0):
        whole, rest = whole - 1, beat_bytes
    rng = None if packet.noise is None else np.random.default_rng(packet.noise)
    bits = packet.user_bits
    ones, user = "1" * beat_bytes, f"{packet.user:0{bits}b}"
    first = True
    for start in range(0, whole, _CHUNK):
        stop = min(whole, start + _CHUNK)
        texts = to_texts(packet.data[start * beat_bytes:stop * beat_bytes], beat_bytes)
        if rng is None:
            for text in texts:
                yield text, ones, "0", user
        else:
            keeps = to_texts(rng.integers(0, 256, len(texts) * beat_bytes // 8, dtype=np.uint8), beat_bytes // 8)
            users = rng.integers(0, 1 << bits, len(texts)).tolist()
            for text, keep, other in zip(texts, keeps, users, strict=True):
                yield text, keep, "0", user if first else f"{other:0{bits}b}"
                first = False
    tail = np.zeros(beat_bytes, np.uint8) if rng is None else rng.integers(0, 256, beat_bytes, dtype=np.uint8)
    tail[:rest] = packet.data[size - rest:]
    if rng is not None and whole:
        user = f"{int(rng.integers(0, 1 << bits)):0{bits}b}"
    yield to_texts(tail, beat_bytes)[0], ("1" * rest).rjust(beat_bytes, "0"), "1", user
