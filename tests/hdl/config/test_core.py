"""The configuration: what it takes, what it refuses, and that the refusal says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdma.hdl.config.core import CoreConfig, load, preset_names
from cdma.hdl.config.settings import PRESETS


@pytest.mark.parametrize("name", preset_names())
def test_presets_load_and_say_what_they_are_for(name: str) -> None:
    config = load(name)
    assert config.about.endswith(".")
    assert config == load(PRESETS / f"{name}.toml")
    assert config.as_dict()["element_bits"] == list(config.element_bits)


@pytest.mark.parametrize(("values", "kind", "words"), [
    ({"core": "engin"}, ValueError, ("core", "compressor, decompressor", "'engin'")),
    ({"core": 3}, TypeError, ("core", "3")),
    ({"name": "1st"}, ValueError, ("name", "identifier", "'1st'")),
    ({"name": "module"}, ValueError, ("name must not be a keyword of SystemVerilog", "'module'")),
    ({"name": "logic"}, ValueError, ("name must not be a keyword of SystemVerilog", "'logic'")),
    ({"beat_bytes": 24}, ValueError, ("beat_bytes", "16, 32, 64", "24")),
    ({"beat_bytes": "32"}, TypeError, ("beat_bytes", "'32'")),
    ({"beat_bytes": True}, TypeError, ("beat_bytes", "True")),
    ({"element_bits": (8, 12)}, ValueError, ("element_bits", "8, 16, 32", "12")),
    ({"element_bits": ()}, ValueError, ("element_bits", "8, 16, 32")),
    ({"pipeline": "slow"}, ValueError, ("pipeline", "small, fast", "'slow'")),
    ({"element_bits": "8"}, TypeError, ("element_bits", "'8'")),
])
def test_what_is_refused(values: dict[str, Any], kind: type[Exception], words: tuple[str, ...]) -> None:
    with pytest.raises(kind) as caught:
        CoreConfig(**values)
    assert all(word in str(caught.value) for word in words)


def test_settings_of_the_command_line() -> None:
    config = load("compressor").with_settings(["beat_bytes=16", "element_bits=32,8", "core=decompressor"])
    assert (config.beat_bytes, config.element_bits, config.name) == (16, (8, 32), "cdma_decompressor")
    assert load("compressor").with_settings(["element_bits=16"]).element_bits == (16,)
    with pytest.raises(ValueError, match="name=value"):
        config.with_settings(["beat_bytes"])
    with pytest.raises(ValueError, match="unknown parameter 'beats'"):
        config.with_settings(["beats=3"])


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('core = "decompressor"\nbeat_bytes = 64\n')
    assert load(file).beat_bytes == 64
    for text, words in (("beat_bytes = 5", "beat_bytes"), ("beats = 5", "unknown parameter"), ("beat", "not TOML")):
        file.write_text(text)
        with pytest.raises(ValueError, match=words) as caught:
            load(file)
        assert str(file) in str(caught.value)
    with pytest.raises(ValueError, match="cannot read"):
        load(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="no preset 'nothing'"):
        load("nothing")
