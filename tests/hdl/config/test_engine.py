"""The engine's configuration: presets, and what is refused, alone and beside another parameter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from hdl.config.settings import PRESETS
from hdl.engine.axi.bursts import burst_beats


def test_presets_load_and_say_what_they_are_for() -> None:
    assert {"default", "paper", "tiny", "wide"} <= set(engine_preset_names())
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
    ({"block_bytes": 8192}, ValueError, ("buffer_bytes", "12288", "block_bytes 8192")),
    ({"buffer_bytes": 10000}, ValueError, ("buffer_bytes", "link_beat_bytes 32", "10000")),
    ({"buffer_bytes": 1 << 21}, ValueError, ("buffer_bytes", "1048576")),
    ({"address_bits": 20}, ValueError, ("address_bits", "32 to 64")),
    ({"outstanding_reads": 0}, ValueError, ("outstanding_reads", "1 to 32")),
    ({"queue_depth": 7}, ValueError, ("queue_depth", "8, 16, 32, 64")),
    ({"element_bits": [12]}, ValueError, ("element_bits", "12")),
    ({"raw_fallback": 1}, TypeError, ("raw_fallback", "true or false")),
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
    file.write_text("lanes = 3\nraw_fallback = false\n")
    config = load_engine(file).with_settings(["lanes=2", "crc=false"])
    assert (config.lanes, config.raw_fallback, config.crc) == (2, False, False)
    file.write_text("lane = 3\n")
    with pytest.raises(ValueError, match="unknown parameter 'lane'"):
        load_engine(file)
    with pytest.raises(ValueError, match="no preset 'huge' of the engine"):
        load_engine("huge")


def test_derived_figures() -> None:
    assert [burst_beats(size) for size in (16, 32, 64)] == [256, 128, 64]
    config = EngineConfig(link_beat_bytes=64)
    assert (config.link_words, config.element_bytes, config.largest_payload) == (16, (1, 2, 4), 4608)
    assert EngineConfig(element_bits=(32,)).largest_payload == 4224
