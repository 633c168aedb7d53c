"""The configuration of the self-test: what is allowed, and what is said else."""

import gc
import warnings
from typing import Any

import pytest

from hdl.selftest.config import SelftestConfig
from hdl.selftest.selftest import Selftest
from hdl.selftest.source import Source


def test_settings_reach_both_cores() -> None:
    config = SelftestConfig().with_settings(["beat_bytes=32", "element_bits=32,8", "pipeline=small"])
    assert config.element_bytes == (1, 4)
    for name in ("compressor", "decompressor"):
        core = config.core(name)
        assert (core.core, core.beat_bytes, core.element_bits, core.pipeline) == (name, 32, (8, 32), "small")


@pytest.mark.parametrize(("setting", "words"), [
    ("beat_bytes=8", "beat_bytes must be one of 16, 32, 64, not 8"),
    ("element_bits=12", "element_bits must be one or more of 8, 16, 32, not 12"),
    ("pipeline=deep", "pipeline must be one of small, fast, not 'deep'"),
    ("raw_bytes=512", "raw_bytes must be 1024 to 1048576, not 512"),
    ("raw_bytes=1100", "raw_bytes must be a multiple of 128, not 1100"),
    ("baud=110", "baud must be 300 to 3000000, not 110"),
    ("pause_ms=0", "pause_ms must be 1 to 60000, not 0"),
    ("name=2fast", "name must be a Verilog identifier"),
    ("lanes=2", "unknown parameter 'lanes'"),
])
def test_mistakes_are_said(setting: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SelftestConfig().with_settings([setting])


@pytest.mark.parametrize(("part", "arguments", "words"), [
    (Selftest, (SelftestConfig(), bytes(128), 200_000), "at least twice the UART's 115200 bits per second, not 200000"),
    (Source, (16, (4,), 1024, b""), "one or more of 128 bytes, not 0 bytes"),
    (Source, (16, (4,), 1024, bytes(100)), "one or more of 128 bytes, not 100 bytes"),
])
def test_parts_refuse_what_they_cannot_be_made_of(part: type, arguments: tuple[Any, ...], words: str) -> None:
    said = ""
    with warnings.catch_warnings():
        # Amaranth complains of the part that was begun.
        warnings.simplefilter("ignore")
        try:
            part(*arguments)
        except ValueError as error:
            said = str(error)
        gc.collect()
    assert words in said
