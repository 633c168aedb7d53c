"""The ways in which the engine can move a tensor; those that change it least come first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec import lines as zvc
from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.coding import WORD_BYTES, Coding
from cdma.golden.codec.headers import HEADER_BYTES, Frame, scan
from cdma.golden.codec.narrowing import NARROWED_BYTES, NARROWED_CODINGS, WIDE_BYTES, Narrowing, narrow
from cdma.hdl.config.engine import EngineConfig
from cdma.workload.plan.codings import allowed, coding_of, exponents, zero_value
from cdma.workload.plan.cycles import Blocks

__all__ = ["LOSSY", "Treatment", "check_narrowing", "expected", "packed", "treatments"]

LOSSY = {"bfloat16": Narrowing.BFLOAT16, "float16": Narrowing.FLOAT16}
"""The formats that float32 can be rounded to, by name."""


@dataclass(frozen=True)
class Treatment:
    """How a tensor is moved: the fields of its descriptor that select it.

    Parameters
    ----------
    coding
        Name of the coding of blocks that are not raw.
    fallback
        Blocks that coding would not shrink stay raw.
    leave_raw
        All blocks stay raw.
    narrow
        Format that float32 is rounded to before coding; 0 does not round.
    """

    coding: str
    fallback: bool = True
    leave_raw: bool = False
    narrow: int = 0

    @property
    def element_bytes(self) -> int:
        """Bytes of the coding's element."""
        return coding_of(self.coding).element_bytes

    @property
    def name(self) -> str:
        """The name in tables: raw, zvc32, exp16, bfloat16, bfloat16+zvc16."""
        form = next((name for name, number in LOSSY.items() if number == self.narrow), "")
        if self.leave_raw:
            return form or "raw"
        coding = coding_of(self.coding)
        coded = f"{'exp' if coding.exponents else 'zvc'}{8 * coding.element_bytes}"
        return f"{form}+{coded}" if form else coded

    @property
    def lossy(self) -> bool:
        """Whether the restored bits may differ."""
        return self.narrow != Narrowing.NONE

    @property
    def part(self) -> int:
        """Raw bytes for each byte that is coded."""
        return WIDE_BYTES // NARROWED_BYTES if self.narrow else 1


def treatments(config: EngineConfig, name: str, raw_bytes: int, own_bytes: int, *, float32: bool = False,
               lossy: Sequence[str] = (), codings: Sequence[str] | None = None) -> list[Treatment]:
    """All treatments that an engine has for a tensor, those that change it least first: raw, zero-value coding in
    elements of its own size, then of other sizes, exponents in the same order, rounded, rounded and coded.

    Exponents are those of its bits, whatever its type: a plan tries both on all values, so that it finds bfloat16
    values in float32.

    Parameters
    ----------
    config
        The engine.
    name, raw_bytes, own_bytes
        Of the tensor, for messages; its bytes, and those of one of its values.
    float32
        Whether its values are float32, so that they can be rounded.
    lossy
        Formats that are allowed, of :data:`LOSSY`.
    codings
        Families of codings that are allowed, of :data:`cdma.workload.plan.codings.CODINGS`; all that the engine builds
        when not given.

    Raises
    ------
    ValueError
        If the engine has no element size that divides the tensor, no stage that rounds, or no exponents that are asked
        for; or no coding that is allowed suits the tensor.
    """
    families = allowed(config, codings)
    sizes = [size for size in config.element_bytes if raw_bytes % size == 0]
    sizes.sort(key=lambda size: (size != own_bytes, -size))
    if not sizes:
        built = ", ".join(str(8 * size) for size in config.element_bytes)
        raise ValueError(f"{name} has {raw_bytes} bytes, no whole number of the {built}-bit elements that "
                         f"{config.name} codes: choose another engine, or set its codings")
    coded = [Treatment(zero_value(size)) for size in sizes] if "zvc" in families else []
    coded += [Treatment(coding) for size in sizes if (coding := exponents(config, families, size))]
    if not coded:
        raise ValueError(f"{name} has {raw_bytes} bytes, no whole number of the elements whose exponents {config.name} "
                         "codes: add zvc to --codings")
    found = [Treatment(zero_value(sizes[0]), leave_raw=True), *coded]
    if lossy:
        check_narrowing(config)
        forms = [LOSSY[form] for form in lossy] if float32 else []
        found += [Treatment(zero_value(NARROWED_BYTES), leave_raw=True, narrow=form) for form in forms]
        for form in forms:
            if "zvc" in families:
                found.append(Treatment(zero_value(NARROWED_BYTES), narrow=form))
            if Coding.BFLOAT16 in NARROWED_CODINGS[form] and (coding := exponents(config, families, NARROWED_BYTES)):
                found.append(Treatment(coding, narrow=form))
    return found


def check_narrowing(config: EngineConfig) -> None:
    """Raise ValueError if an engine cannot round float32 to 16 bits."""
    if not config.narrowing:
        raise ValueError(f"{config.name} has no stage that rounds float32 to 16 bits: choose an engine with narrowing "
                         "(--set narrowing=true), or leave lossy treatments out")


def packed(raw: Bytes, how: Treatment, block_bytes: int) -> Blocks:
    """The exact blocks of a tensor under a treatment.

    Parameters
    ----------
    raw
        Its bytes.
    block_bytes
        Raw bytes of a block.
    """
    coded = narrow(raw, how.narrow).view(np.uint8) if how.narrow else raw
    coding = coding_of(how.coding)
    stream = blocks.compress(coded, coding, block_bytes // how.part, how.fallback, how.leave_raw)
    found = scan(stream, Frame(block_bytes // how.part))
    return Blocks(raw.size, HEADER_BYTES + (found.payload + 3 & ~3), found.coding == Coding.RAW,
                  int(np.count_nonzero(coded.view(f"<u{how.element_bytes}"))), how.part, coding.exponents)


def expected(raw_bytes: int, density: float, how: Treatment, block_bytes: int) -> Blocks:
    """The blocks of a tensor of which only the density is known: all equal, with no zero byte in a non-zero value.

    Raises
    ------
    ValueError
        If the treatment codes exponents, of which a density says nothing.
    """
    if coding_of(how.coding).exponents:
        raise ValueError(f"{how.name} needs values, not a density: plan a dump, or leave exponents out of --codings")
    size, coded = block_bytes // how.part, raw_bytes // how.part
    count = -(-coded // size)
    lengths = np.full(count, _coded_bytes(size, density, how))
    last = coded - (count - 1) * size
    lengths[-1] = _coded_bytes(last, density, how) + WORD_BYTES * (last < size)
    whole = np.full(count, size)
    whole[-1] = last
    raw = (lengths >= whole) & how.fallback | how.leave_raw
    return Blocks(raw_bytes, HEADER_BYTES + (np.where(raw, whole, lengths) + 3 & ~3), raw,
                  round(density * coded / how.element_bytes), how.part)


def _coded_bytes(size: int, density: float, how: Treatment) -> int:
    """Bytes of tags and elements of ``size`` raw bytes."""
    tags = zvc.packed_bytes(np.zeros(size, np.uint8), how.element_bytes)
    return tags + round(density * size / how.element_bytes) * how.element_bytes
