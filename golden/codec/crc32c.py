"""CRC-32C (Castagnoli) over bytes, by a compiled library; the tests compare it with the definition, bit by bit."""

from __future__ import annotations

from typing import Any

from cdma.golden.codec.buffers import as_bytes, whole_number

__all__ = ["crc32c"]

_ALL_ONES = 0xFFFF_FFFF


def crc32c(buffer: Any, value: int = 0) -> int:
    """CRC-32C over bytes.

    Parameters
    ----------
    buffer
        Array or buffer; its bytes in C order.
    value
        CRC of the bytes before it, to continue from there.

    Returns
    -------
    int
        32 bits, as zlib.crc32 and iSCSI give theirs: initial value and final exclusive-or are all ones.

    Raises
    ------
    TypeError
        If ``buffer`` is no array or buffer of bytes.
    ValueError
        If ``value`` does not have 32 bits.
    """
    # On first use: the codec runs without it, where there is a GPU and little else.
    import google_crc32c

    start = whole_number(value, "value")
    if start > _ALL_ONES:
        raise ValueError(f"value must be a CRC of 32 bits, not {start:#x}")
    data: Any = as_bytes(buffer, "buffer")      # accepted as bytes are; type hints omit that
    return google_crc32c.extend(start, data)
