"""The dump that ships: feature maps of a trained network on a photograph (see README.md beside it)."""

from pathlib import Path

__all__ = ["shipped"]


def shipped() -> Path:
    """Path of the shipped dump: float32 feature maps of SqueezeNet, NCHW, one array per layer."""
    return Path(__file__).parent / "squeezenet_cc0.npz"
