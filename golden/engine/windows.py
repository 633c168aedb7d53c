"""Address windows: the parts of device memory and of link memory that descriptors and rings may use."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.golden.codec.buffers import whole_number

__all__ = ["OPEN", "WINDOW_BYTES", "Window", "Windows"]

WINDOW_BYTES = 4096
"""Base and limit of a window are multiples of it."""


@dataclass(frozen=True)
class Window:
    """Addresses from ``base`` to before ``limit``.

    Parameters
    ----------
    base
        The first address inside.
    limit
        The first address behind it; 0 means the end of the address space.

    Raises
    ------
    ValueError
        If they are not multiples of 4096 of 64 bits.
    """

    base: int = 0
    limit: int = 0

    def __post_init__(self) -> None:
        for name in ("base", "limit"):
            value = whole_number(getattr(self, name), name)
            if value % WINDOW_BYTES or not 0 <= value < 1 << 64:
                raise ValueError(f"the {name} of a window must be a multiple of {WINDOW_BYTES} below 2^64, not "
                                 f"{value:#x}")

    def holds(self, address: int, size: int, address_bits: int) -> bool:
        """Whether ``size`` bytes from an address on lie inside. An empty range does as soon as its address is neither
        before the base nor behind the limit."""
        return self.base <= address and address + size <= (self.limit or 1 << address_bits)


@dataclass(frozen=True)
class Windows:
    """The window of each memory; without arguments both are open, as after a reset."""

    device: Window = Window()
    link: Window = Window()


OPEN = Windows()
"""Windows that hold every address."""
