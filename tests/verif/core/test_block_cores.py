"""Every shipped preset of the block cores, simulated: golden says what must come out."""

from __future__ import annotations

import pytest

from cdma.hdl.config.block_core import load_block
from tests.verif.conftest import FULL, Bench

_SHARES = {f"{kind}block_{core}": 1.0 if FULL else share for kind, share in (
    ("", 0.5), ("exponent_", 0.5), ("narrow_", 0.05), ("wide_", 0.05)) for core in ("compressor", "decompressor")}


@pytest.mark.parametrize("preset", _SHARES)
def test_preset(preset: str, bench: Bench) -> None:
    config = load_block(preset)
    bench(config, f"cdma.verif.core.benches.{config.core}", share=_SHARES[preset])


@pytest.mark.parametrize(("core", "setting"), [
    ("block_compressor", "pipeline=fast"), ("block_compressor", "codings=zvc32"),
    ("block_decompressor", "codings=zvc32")])
def test_other_shapes(core: str, setting: str, bench: Bench) -> None:
    config = load_block(core).replace(name=f"cdma_{core}_{setting.partition('=')[2]}").with_settings([setting])
    bench(config, f"cdma.verif.core.benches.{core}", share=1.0 if FULL else 0.05)


@pytest.mark.parametrize("preset", ["block_compressor", "block_decompressor"])
def test_bus_models_of_others(preset: str, bench: Bench) -> None:
    bench(load_block(preset), "cdma.verif.core.benches.interoperate")
