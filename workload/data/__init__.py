"""The dumps that ship: activations of trained networks (see README.md beside them)."""

from pathlib import Path

__all__ = ["DIGITS", "SUMS", "shipped", "shipped_dumps"]

DIGITS = Path(__file__).parent / "digits_cnn.npz"
"""Path of a small network's feature maps at five points of its training: float32, NCHW, arrays named p000/conv1."""

SUMS = Path(__file__).parent / "sums_gpt.safetensors"
"""Path of a small transformer's activations at the end of its training: bfloat16, dense."""


def shipped() -> Path:
    """Path of the dump that commands take when none is named: float32 feature maps of SqueezeNet, NCHW."""
    return Path(__file__).parent / "squeezenet_cc0.npz"


def shipped_dumps() -> dict[str, Path]:
    """Paths of all dumps that ship, by name."""
    return {path.stem: path for path in (shipped(), DIGITS, SUMS)}
