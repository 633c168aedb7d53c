"""Families of codings, and what engines build of them."""

from __future__ import annotations

import pytest

from cdma.golden.codec.coding import Coding, coding_name
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.workload.plan.codings import CODINGS, allowed, check_built, coding_of, exponents, zero_value

_PLAIN = EngineConfig(codings=("zvc8", "zvc16", "bfloat16"))


def test_names() -> None:
    assert [zero_value(size) for size in (1, 2, 4)] == ["zvc8", "zvc16", "zvc32"]
    assert [exponents(EngineConfig(), CODINGS, size) for size in (1, 2, 4)] == [None, "bfloat16", "float32"]
    assert [exponents(_PLAIN, CODINGS, size) for size in (2, 4)] == ["bfloat16", None]
    assert exponents(EngineConfig(), ("zvc",), 4) is None


def test_every_coding_that_engines_know_has_its_name() -> None:
    for coding in Coding:
        if coding.sized:
            assert coding_of(coding_name(coding)) is coding
    for name in ("raw", "lines32"):
        with pytest.raises(ValueError, match=rf"coding must be one of zvc8, zvc16, .*, not '{name}'"):
            coding_of(name)


def test_what_is_allowed_is_built() -> None:
    assert allowed(EngineConfig()) == allowed(_PLAIN) == ("zvc", "exponents")
    assert allowed(EngineConfig(), ["zvc"]) == allowed(load_engine("paper")) == ("zvc",)
    with pytest.raises(ValueError, match="builds the codings zvc32, none with exponents: leave exponents out"):
        allowed(load_engine("paper"), ["zvc", "exponents"])


def test_engines_build_their_codings() -> None:
    for name in EngineConfig().codings:
        check_built(EngineConfig(), "t", "zvc", name)
    with pytest.raises(ValueError, match=r"t as zvc16 in blocks of zvc16, which .* \(it builds zvc32\)"):
        check_built(load_engine("paper"), "t", "zvc16", "zvc16")
