"""DEFLATE as zlib writes it, one of the paper's baselines: every 4 KiB of an array is a stream of its own.

Each window is what ``zlib.compress(window, 6)`` gives: a zlib stream (RFC 1950) with its 2-byte header and 4-byte
check, level 6 (zlib's default), so that no match reaches back into the window before; the paper uses 4 KB too. The
last window may be shorter. The streams stand back to back; zlib finds the end of each by itself, so no lengths
are stored or counted. There is no fallback, but DEFLATE's stored blocks keep the growth to 11 bytes in a window.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from cdma.golden.codec.buffers import as_bytes

__all__ = ["LEVEL", "WINDOW_BYTES", "compress", "decompress", "packed_bytes"]

WINDOW_BYTES = 4096
"""Raw bytes that are coded together."""
LEVEL = 6
"""Effort, of 1 to 9."""

_GROWTH = 11  # bytes by which a window grows at most: zlib's header and check, and the head of a stored block


def compress(raw: Any) -> bytes:
    """The zlib streams of an array's windows, back to back.

    Parameters
    ----------
    raw
        Array of any shape and type, or a buffer; its bytes in C order.

    Raises
    ------
    TypeError
        If ``raw`` is no array or buffer.
    """
    return b"".join(_streams(raw))


def packed_bytes(raw: Any) -> int:
    """Bytes of what :func:`compress` gives, without keeping it."""
    return sum(map(len, _streams(raw)))


def decompress(packed: Any) -> bytes:
    """The raw bytes of what :func:`compress` gave.

    Raises
    ------
    TypeError
        If ``packed`` is no array or buffer.
    ValueError
        If a stream is malformed or cut.
    """
    data, windows, at = as_bytes(packed, "packed"), [], 0
    while at < data.size:
        stream, part = zlib.decompressobj(), data[at:at + WINDOW_BYTES + _GROWTH].tobytes()
        try:
            window = stream.decompress(part)
        except zlib.error as error:
            raise ValueError(f"window {len(windows)} is not a zlib stream: {error}") from error
        if not stream.eof:
            raise ValueError(f"window {len(windows)} is cut: its zlib stream does not end")
        windows.append(window)
        at += len(part) - len(stream.unused_data)
    return b"".join(windows)


def _streams(raw: Any) -> Iterator[bytes]:
    data = as_bytes(raw)
    for start in range(0, data.size, WINDOW_BYTES):
        yield zlib.compress(data[start:start + WINDOW_BYTES].tobytes(), LEVEL)
