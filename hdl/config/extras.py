"""How to install an extra, in all messages."""

__all__ = ["install"]


def install(extra: str) -> str:
    """The command that adds an extra. Where cdma-rtl is installed, from clone or wheel, pip looks nowhere for it."""
    return f"pip install 'cdma-rtl[{extra}]'"
