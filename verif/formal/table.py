"""The table of proofs: all of them, in the order in which they are run and listed."""

from __future__ import annotations

from verif.formal.proof import Proof
from verif.formal.proofs import arithmetic, buffers, bursts, bus, codecs, crossing, masters, routing, streams

__all__ = ["PROOFS"]

PROOFS: tuple[Proof, ...] = (
    *buffers.PROOFS, *bursts.PROOFS, *masters.PROOFS, *bus.PROOFS, *crossing.PROOFS, *arithmetic.PROOFS,
    *routing.PROOFS, *streams.PROOFS, *codecs.PROOFS)
"""All proofs."""
