"""What calls of a driver can come back with beside a status: one code for each reason, in C and in Python."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Code"]


class Code(IntEnum):
    """Why a driver refused a call or gave it up; in C ``CDMA_E_`` and the name."""

    NO_ENGINE = -1
    VERSION = -2
    FULL = -3
    PENDING = -4
    TIMEOUT = -5
    RING_SIZE = -6
    ARGUMENT = -7
    BUSY = -8
    TAG = -9
    REFUSED = -10
    RING_DISABLED = -11
    RESET = -12
    WINDOW = -14
    LOCKED = -15
    NOT_BUILT = -16
