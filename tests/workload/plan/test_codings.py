"""Families of codings, and what engines build of them."""

from __future__ import annotations

import pytest

from golden.codec.coding import Coding, coding_name
from hdl.config.engine import EngineConfig, load_engine
from workload.plan.codings import BUILT, CODINGS, check_built, coding_of, exponents, zero_value


def test_names() -> None:
    assert [zero_value(("lines", "exponents"), size) for size in (1, 2, 4)] == ["lines8", "lines16", "lines32"]
    assert [zero_value(("zvc",), size) for size in (1, 2, 4)] == ["zvc8", "zvc16", "zvc32"]
    assert zero_value(("exponents",), 4) is None
    assert exponents(CODINGS, Coding.BFLOAT16) == "bfloat16"
    assert exponents(CODINGS, Coding.ZVC16) is exponents(("lines", "zvc"), Coding.FLOAT32) is None


def test_every_coding_has_its_name() -> None:
    for coding in set(Coding) - {Coding.RAW}:
        assert coding_of(coding_name(coding)) is coding
    with pytest.raises(ValueError, match=r"coding must be one of lines8, lines16, .*, not 'raw'"):
        coding_of("raw")


def test_engines_build_lines_of_their_elements() -> None:
    assert BUILT == ("lines",)
    for size in EngineConfig().element_bytes:
        check_built(EngineConfig(), "t", "zvc", f"lines{8 * size}")
    with pytest.raises(ValueError, match=r"t as zvc16 in blocks of lines16, which .* \(it builds lines32\)"):
        check_built(load_engine("paper"), "t", "zvc16", "lines16")
