"""What calls of a driver can come back with beside a status: one code for each reason, in C and in Python."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["REASONS", "Code"]


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


REASONS: dict[Code, str] = {
    Code.NO_ENGINE: "there is no engine at this address",
    Code.VERSION: "the engine's register map is of a version that this driver does not know",
    Code.FULL: "no free place for a descriptor: take completions first",
    Code.PENDING: "no completion yet",
    Code.TIMEOUT: "gave up waiting, but the engine goes on: drain or reset it, or raise polls",
    Code.RING_SIZE: "a ring has 2 to 65536 entries (a power of two), is aligned to 64 bytes, and ends within the "
                    "addresses",
    Code.ARGUMENT: "an argument is missing, the operation is not offload, prefetch or the ring's, or a value is too "
                   "large",
    Code.BUSY: "take the completions of submitted descriptors before a blocking call, and before attributes change",
    Code.TAG: "tags from 0x80000000 on are the driver's own",
    Code.REFUSED: "the engine refused it: the ring is outside the link's window, or a ring or a descriptor is in the "
                  "way",
    Code.RING_DISABLED: "the ring is disabled: a descriptor could not be read, or the engine was reset",
    Code.RESET: "the soft reset does not end: is the engine's clock on? reset it by its pin",
    Code.WINDOW: "base and limit of a window are multiples of 4096 within the addresses, the limit not below the base",
    Code.LOCKED: "address windows and attributes are locked: only a reset of the engine by its pin opens them",
    Code.NOT_BUILT: "the engine was built without this: see its FEATURES register, and its parameters",
}
"""A sentence for each code, without a full stop."""
