"""The table of proofs: all of them, in the order in which they are run and listed."""

from __future__ import annotations

from cdma.hdl.config.catalog import Design
from cdma.hdl.config.core import CoreConfig
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs import (
    arithmetic,
    bounds,
    buffers,
    bus,
    codecs,
    crc,
    crossing,
    descriptors,
    distribution,
    exponents,
    lanes,
    malformed,
    masters,
    outcomes,
    page_lists,
    ports,
    progress,
    resets,
    routing,
    rows,
    streams,
    write_back,
)

__all__ = ["PROOFS", "proofs_of"]

_ENGINE = (buffers, masters, bus, descriptors, crossing, arithmetic, routing, crc)
"""Files about the parts of an engine; those with ``of_engine`` make their proofs from its configuration."""

_OTHERS = (bounds, distribution, lanes, ports, outcomes, streams, codecs, malformed, exponents, rows, resets,
           progress, page_lists, write_back)

PROOFS: tuple[Proof, ...] = tuple(proof for file in (*_ENGINE, *_OTHERS) for proof in file.PROOFS)
"""The table: all proofs, with parameters of their own."""


def proofs_of(config: Design) -> tuple[Proof, ...]:
    """The shallow proofs of a configuration.

    Proofs of an engine's parts are made from its parameters, where they depend on any; the others are those of the
    table. A core of lines has those of its streams, a block core none: its memories are too large for the solver.
    """
    if isinstance(config, CoreConfig):
        return streams.of_core(config)
    if not isinstance(config, EngineConfig):
        return ()
    return tuple(proof for file in _ENGINE for proof in (
        file.of_engine(config) if hasattr(file, "of_engine") else file.PROOFS) if proof.set == "shallow")
