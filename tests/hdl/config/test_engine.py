"""The engine's configuration: presets, and what is refused, alone and beside another parameter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.config.catalog import load_design
from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.hdl.config.settings import PRESETS
from cdma.hdl.engine.axi.bursts import burst_beats


def test_presets_load_and_say_what_they_are_for() -> None:
    assert {"engine", "paper", "smallest", "tiny", "wide"} == set(engine_preset_names())
    configs = [load_engine(name) for name in engine_preset_names()]
    assert all(config.about.endswith(".") for config in configs)
    assert len({config.name for config in configs}) == len(configs)
    assert load_engine(PRESETS / "engine" / "tiny.toml").lanes == 1


@pytest.mark.parametrize(("values", "kind", "words"), [
    ({"lanes": 0}, ValueError, ("lanes", "1 to 16", "not 0")),
    ({"lanes": 17}, ValueError, ("lanes", "17")),
    ({"lanes": 2.0}, TypeError, ("lanes", "2.0")),
    ({"beat_bytes": 64}, ValueError, ("link_beat_bytes", "beat_bytes 64", "not 32")),
    ({"block_bytes": 3000}, ValueError, ("block_bytes", "512", "3000")),
    ({"block_bytes": 16384}, ValueError, ("buffer_bytes must be at least 20480", "block_bytes 16384", "not 5120")),
    ({"buffer_bytes": 10000}, ValueError, ("buffer_bytes", "link_beat_bytes 32", "10000")),
    ({"buffer_bytes": 1 << 21}, ValueError, ("buffer_bytes", "1048576")),
    ({"address_bits": 20}, ValueError, ("address_bits", "32 to 64")),
    ({"outstanding_reads": 0}, ValueError, ("outstanding_reads", "1 to 32")),
    ({"link_read_ids": 17}, ValueError, ("link_read_ids", "1 to 16", "not 17")),
    ({"link_read_ids": True}, TypeError, ("link_read_ids", "True")),
    ({"transfers_in_flight": 9}, ValueError, ("transfers_in_flight", "1 to 8", "not 9")),
    ({"queue_depth": 7}, ValueError, ("queue_depth", "8, 16, 32, 64")),
    ({"codings": ["zvc12"]}, ValueError, ("codings", "zvc8, zvc16, zvc32, bfloat16, float32", "'zvc12'")),
    ({"codings": ["lines32"]}, ValueError, ("codings", "'lines32'")),
    ({"codings": []}, ValueError, ("codings must name at least one",)),
    ({"codings": ["zvc16", "float32"]}, ValueError, ("with float32 must have zvc32 too", "not zvc16, float32")),
    ({"codings": 32}, TypeError, ("codings must be a list of names, not 32",)),
    ({"narrowing": True, "codings": ["zvc8", "zvc32"]}, ValueError, ("must have zvc16", "not zvc8, zvc32")),
    ({"narrowing": True, "block_bytes": 512}, ValueError, ("block_bytes must be at least 1024", "512")),
    ({"narrowing": 1}, TypeError, ("narrowing", "true or false")),
    ({"burst_beats": 24}, ValueError, ("burst_beats", "16, 32, 64, 128, 256", "24")),
    ({"link_clock": "own"}, ValueError, ("link_clock", "shared", "separate", "own")),
    ({"safe_writes": "yes"}, TypeError, ("safe_writes", "true or false", "'yes'")),
    ({"buffer_parity": 1}, TypeError, ("buffer_parity", "true or false", "1")),
    ({"lane_cache": 4}, ValueError, ("lane_cache", "0, 1, 2, 3, 6, 7", "4")),
    ({"link_prot": 8}, ValueError, ("link_prot", "0 to 7", "8")),
    ({"lane_qos": -1}, ValueError, ("lane_qos", "0 to 15", "-1")),
    ({"user_bits": 2, "link_user": 4}, ValueError, ("link_user", "2^user_bits - 1", "4", "user_bits 2")),
    ({"attribute_registers": 1}, TypeError, ("attribute_registers", "true or false")),
    ({"crc": "no"}, TypeError, ("crc", "'no'")),
    ({"name": "a b"}, ValueError, ("name", "identifier")),
    ({"pipeline": "deep"}, ValueError, ("pipeline", "deep")),
])
def test_what_is_refused(values: dict[str, Any], kind: type[Exception], words: tuple[str, ...]) -> None:
    with pytest.raises(kind) as caught:
        EngineConfig(**values)
    assert all(word in str(caught.value) for word in words)


def test_files_and_settings(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('lanes = 3\ncodings = ["float32", "zvc32"]\n')
    config = load_engine(file).with_settings(["lanes=2", "crc=false"])
    assert (config.lanes, config.codings, config.crc) == (2, ("zvc32", "float32"), False)
    assert config.with_settings(["codings=zvc32,zvc8"]).codings == ("zvc8", "zvc32")
    assert load_design(str(file)) == load_engine(file)
    file.write_text("lane = 3\n")
    with pytest.raises(ValueError, match="unknown parameter 'lane'"):
        load_engine(file)
    with pytest.raises(ValueError, match="no preset 'huge' of the engine"):
        load_engine("huge")


def test_derived_figures() -> None:
    assert [burst_beats(size) for size in (16, 32, 64)] == [256, 128, 64]
    assert [burst_beats(size, 64) for size in (16, 32, 64)] == [64, 64, 64]
    config = EngineConfig(link_beat_bytes=64)
    assert (config.link_words, config.element_bytes, config.largest_payload) == (16, (1, 2, 4), 4608)
    assert (config.numbers, config.exponents) == ((0x11, 0x12, 0x14, 0x22, 0x24), (2, 4))
    assert EngineConfig(codings=("zvc32",)).largest_payload == 4224
    assert [(config.replace(link_read_ids=ids).link_reads, config.replace(link_read_ids=ids).link_id_bits)
            for ids in (1, 2, 5, 16)] == [(4, 1), (2, 1), (5, 3), (16, 4)]
    # A line of 64 elements has a header and a tag: 9 bytes; one of 32 has 5.
    assert EngineConfig(codings=("zvc16", "bfloat16")).largest_payload == 4096 + 32 * 9
    assert EngineConfig(codings=("zvc32", "float32")).largest_payload == 4096 + 32 * 5
    assert {name: load_engine(name).codings for name in ("paper", "smallest")} == dict.fromkeys(
        ("paper", "smallest"), ("zvc32",))
    assert {load_engine(name).codings for name in ("engine", "tiny", "wide")} == {tuple(CODINGS)}
