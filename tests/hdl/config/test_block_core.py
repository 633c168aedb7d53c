"""The configuration of a block core: what it takes, what it refuses, and that the refusal says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdma.hdl.config.block_core import BlockCoreConfig, block_preset_names, load_block
from cdma.hdl.config.catalog import load_design
from cdma.hdl.config.core import CoreConfig
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.config.settings import PRESETS


@pytest.mark.parametrize("name", block_preset_names())
def test_presets_load_and_say_what_they_are_for(name: str) -> None:
    config = load_block(name)
    assert config.about.endswith(".")
    assert config == load_design(name) == load_design(str(PRESETS / "block" / f"{name}.toml"))
    assert config.as_dict()["codings"] == list(config.codings)
    assert name in (config.core, config.name.removeprefix("cdma_"))


@pytest.mark.parametrize(("values", "kind", "words"), [
    ({"core": "compressor"}, ValueError, ("core", "block_compressor, block_decompressor", "'compressor'")),
    ({"beat_bytes": 24}, ValueError, ("beat_bytes", "16, 32, 64", "24")),
    ({"block_bytes": 1000}, ValueError, ("block_bytes", "512, 1024", "not 1000")),
    ({"codings": ("zvc8", "zvc12")}, ValueError, ("codings", "zvc8, zvc16, zvc32, bfloat16, float32", "'zvc12'")),
    ({"codings": ("lines8",)}, ValueError, ("codings", "'lines8'")),
    ({"codings": (8,)}, ValueError, ("codings", "not 8")),
    ({"codings": ()}, ValueError, ("codings must name at least one",)),
    ({"codings": 8}, TypeError, ("codings must be a list of names, not 8",)),
    ({"codings": ("zvc32", "bfloat16")}, ValueError, ("with bfloat16 must have zvc16 too", "not zvc32, bfloat16")),
    ({"codings": ("zvc16", "float32")}, ValueError, ("with float32 must have zvc32 too", "not zvc16, float32")),
    ({"core": "block_decompressor", "pipeline": "fast"}, ValueError, ("pipeline must be small", "'fast'")),
    ({"pipeline": "slow"}, ValueError, ("pipeline", "small, fast", "'slow'")),
    ({"name": "module"}, ValueError, ("name must not be a keyword",)),
])
def test_what_is_refused(values: dict[str, Any], kind: type[Exception], words: tuple[str, ...]) -> None:
    with pytest.raises(kind) as caught:
        BlockCoreConfig(**values)
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in words)


def test_settings_of_the_command_line() -> None:
    config = load_block("block_compressor").with_settings(["codings=zvc32,zvc8", "core=block_decompressor"])
    assert (config.codings, config.numbers, config.element_bytes) == (("zvc8", "zvc32"), (0x11, 0x14), (1, 4))
    assert config.name == "cdma_block_decompressor"
    assert load_block("block_compressor").with_settings(["codings=zvc16"]).codings == ("zvc16",)
    both = config.with_settings(["codings=float32,zvc16,zvc32"])
    assert (both.codings, both.element_bytes, both.exponents) == (("zvc16", "zvc32", "float32"), (2, 4), (4,))
    assert not config.exponents


@pytest.mark.parametrize(("text", "kind"), [
    ('core = "block_decompressor"\n', BlockCoreConfig), ('core = "decompressor"\n', CoreConfig),
    ('lanes = 2\ncodings = ["zvc32"]\n', EngineConfig), ("crc = false\n", EngineConfig),
])
def test_a_file_says_what_it_configures(tmp_path: Path, text: str, kind: type) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    assert isinstance(load_design(str(file)), kind)


@pytest.mark.parametrize("text", ["", "# nothing\n", "beat_bytes = 32\n", 'codings = ["zvc32"]\n', 'name = "mine"\n'])
def test_a_file_that_does_not_say_what_it_configures(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"mine\.toml does not say what it configures: set core to compressor, "):
        load_design(str(file))
    if "=" not in text:
        with pytest.raises(ValueError, match=r"mine\.toml sets no parameter: the parameters are name, "):
            load_engine(file)


def test_a_core_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('core = "block_compresor"\n')
    with pytest.raises(ValueError, match=r"mine\.toml: core must be one of compressor, decompressor, "
                                         "block_compressor, block_decompressor, not 'block_compresor'"):
        load_design(str(tmp_path / "mine.toml"))


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no preset 'compressor' of the block cores: there are block_compressor"):
        load_block("compressor")
    (tmp_path / "mine.toml").write_text('core = "block_compressor"\nelement_bits = [8]\n')
    with pytest.raises(ValueError, match="unknown parameter 'element_bits': the parameters are core, name"):
        load_design(str(tmp_path / "mine.toml"))
