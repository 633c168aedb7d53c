"""What tools call a design: vendor, library and version, beside its name."""

from __future__ import annotations

from importlib.metadata import version

__all__ = ["LIBRARY", "VENDOR", "ip_version"]

VENDOR = "cdma-rtl"
LIBRARY = "ip"


def ip_version() -> str:
    """Version of an IP for Vivado, which takes two numbers: the first two of this package's."""
    return ".".join(version("cdma-rtl").split(".")[:2])
