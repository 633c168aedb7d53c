"""The configuration of the self-test: what is allowed, and what is said else."""

import pytest

from cdma.hdl.selftest.config import CoresTestConfig, EngineTestConfig
from cdma.hdl.selftest.selftest import Selftest


def test_settings_reach_both_cores() -> None:
    config = CoresTestConfig().with_settings(["beat_bytes=32", "element_bits=32,8", "pipeline=small"])
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
        CoresTestConfig().with_settings([setting])


def test_settings_reach_the_engine() -> None:
    config = EngineTestConfig().with_settings(
        ["beat_bytes=32", "lanes=2", "codings=zvc32", "block_bytes=512", "raw_bytes=2048", "pipeline=small"])
    engine = config.engine()
    assert (engine.lanes, engine.beat_bytes, engine.link_beat_bytes, engine.block_bytes) == (2, 32, 32, 512)
    assert (engine.codings, engine.pipeline, config.capacity) == (("zvc32",), "small", 2048 + 16)


@pytest.mark.parametrize(("setting", "words"), [
    ("beat_bytes=8", "beat_bytes must be one of 16, 32, 64, not 8"),
    ("codings=zvc64", "codings must be one or more of zvc8, .*, not 'zvc64'"),
    ("codings=float32", "codings with float32 must have zvc32 too, not float32"),
    ("lanes=3", "lanes must be one of 1, 2, 4, not 3"),
    ("block_bytes=500", "block_bytes must be one of 512, .*, not 500"),
    ("raw_bytes=1024", "raw_bytes must be a multiple of block_bytes, two blocks or more, not 1024 beside block_bytes"),
    ("raw_bytes=65537", "raw_bytes must be 1024 to 65536, not 65537"),
    ("latency=3", "latency must be 4 to 255, not 3"),
    ("element_bits=8", "unknown parameter 'element_bits'"),
])
def test_mistakes_of_an_engine_are_said(setting: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        EngineTestConfig().with_settings([setting])


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
def test_a_clock_that_is_too_slow_for_the_uart_is_refused() -> None:
    with pytest.raises(ValueError, match="at least twice the UART's 115200 bits per second, not 200000"):
        Selftest(CoresTestConfig(), bytes(128), 200_000)
