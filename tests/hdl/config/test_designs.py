"""The configurations of cores and engines: what they take, what they refuse, and that the refusal says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.config.block_core import BlockCoreConfig, block_preset_names, load_block
from cdma.hdl.config.catalog import load_design
from cdma.hdl.config.core import CoreConfig, load, preset_names
from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.hdl.config.settings import PRESETS
from cdma.hdl.engine.axi.bursts import burst_beats

_PRESETS: list[Any] = [
    *((load, name, f"{name}.toml") for name in preset_names()),
    *((load_block, name, f"block/{name}.toml") for name in block_preset_names()),
    *((load_engine, name, f"engine/{name}.toml") for name in engine_preset_names())]


@pytest.mark.parametrize(("load_one", "name", "file"), _PRESETS, ids=[name for _, name, _ in _PRESETS])
def test_presets_load_and_say_what_they_are_for(load_one: Any, name: str, file: str) -> None:
    config = load_one(name)
    assert config.about.endswith(".")
    assert config == load_one(PRESETS / file) == load_design(name) == load_design(str(PRESETS / file))
    kind, = (each for each in ("element_bits", "codings") if hasattr(config, each))
    assert config.as_dict()[kind] == list(getattr(config, kind))


def test_names_of_presets() -> None:
    assert {"engine", "lean", "paper", "smallest", "tiny", "wide"} == set(engine_preset_names())
    assert all(name in (load_block(name).core, load_block(name).name.removeprefix("cdma_"))
               for name in block_preset_names())
    names = [load_one(name).name for load_one, name, _ in _PRESETS]
    assert len(set(names)) == len(names)


_REFUSED: dict[type, list[tuple[dict[str, Any], type[Exception], tuple[str, ...]]]] = {
    CoreConfig: [
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
    ],
    BlockCoreConfig: [
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
        ({"pipeline": "slow"}, ValueError, ("pipeline", "small, fast", "'slow'")),
        ({"name": "module"}, ValueError, ("name must not be a keyword",)),
    ],
    EngineConfig: [
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
        ({"transfers_in_flight": 33}, ValueError, ("transfers_in_flight", "1 to 32", "not 33")),
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
    ],
}


@pytest.mark.parametrize(("config", "values", "kind", "words"), [
    pytest.param(config, *case, id=f"{config.__name__} {case[0]}") for config, cases in _REFUSED.items()
    for case in cases])
def test_what_is_refused(config: type, values: dict[str, Any], kind: type[Exception], words: tuple[str, ...]) -> None:
    with pytest.raises(kind) as caught:
        config(**values)
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in words)


def test_settings_of_the_command_line() -> None:
    core = load("compressor").with_settings(["beat_bytes=16", "element_bits=32,8", "core=decompressor"])
    assert (core.beat_bytes, core.element_bits, core.name) == (16, (8, 32), "cdma_decompressor")
    assert load("compressor").with_settings(["element_bits=16"]).element_bits == (16,)
    for setting, words in (("beat_bytes", "name=value"), ("beats=3", "unknown parameter 'beats'")):
        with pytest.raises(ValueError, match=words):
            core.with_settings([setting])
    block = load_block("block_compressor").with_settings(["codings=zvc32,zvc8", "core=block_decompressor"])
    assert (block.codings, block.numbers, block.element_bytes) == (("zvc8", "zvc32"), (0x11, 0x14), (1, 4))
    assert (block.name, block.exponents) == ("cdma_block_decompressor", ())
    assert load_block("block_compressor").with_settings(["codings=zvc16"]).codings == ("zvc16",)
    both = block.with_settings(["codings=float32,zvc16,zvc32"])
    assert (both.codings, both.element_bytes, both.exponents) == (("zvc16", "zvc32", "float32"), (2, 4), (4,))


@pytest.mark.parametrize(("text", "kind"), [
    ('core = "block_decompressor"\n', BlockCoreConfig), ('core = "decompressor"\n', CoreConfig),
    ('lanes = 2\ncodings = ["zvc32"]\n', EngineConfig), ("crc = false\n", EngineConfig),
])
def test_a_file_says_what_it_configures(tmp_path: Path, text: str, kind: type) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    assert isinstance(load_design(str(file)), kind)


_SAYS_NOTHING = r"mine\.toml does not say what it configures: set core to compressor, "
_NO_PARAMETER = r"mine\.toml sets no parameter: the parameters are name, "
_NO_CORE = (r"mine\.toml: core must be one of compressor, decompressor, block_compressor, block_decompressor, not "
            "'block_compresor'")


@pytest.mark.parametrize(("load_one", "text", "words"), [
    *((load_design, text, _SAYS_NOTHING)
      for text in ("", "# nothing\n", "beat_bytes = 32\n", 'codings = ["zvc32"]\n', 'name = "mine"\n')),
    *((load_engine, text, _NO_PARAMETER) for text in ("", "# nothing\n")),
    (load_design, 'core = "block_compresor"\n', _NO_CORE),
    (load_design, 'core = "block_compressor"\nelement_bits = [8]\n',
     "unknown parameter 'element_bits': the parameters are core, name"),
    (load, "beat_bytes = 5", r"mine\.toml.*beat_bytes"), (load, "beats = 5", r"mine\.toml.*unknown parameter"),
    (load, "beat", r"mine\.toml.*not TOML"), (load_engine, "lane = 3\n", "unknown parameter 'lane'"),
])
def test_files_that_are_refused(tmp_path: Path, load_one: Any, text: str, words: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ValueError, match=words):
        load_one(str(tmp_path / "mine.toml") if load_one is load_design else tmp_path / "mine.toml")


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot read"):
        load(tmp_path / "none.toml")
    for load_one, name, words in ((load, "nothing", "no preset 'nothing'"),
                                  (load_engine, "huge", "no preset 'huge' of the engine"),
                                  (load_block, "compressor", "no preset 'compressor' of the block cores \\(did")):
        with pytest.raises(ValueError, match=words):
            load_one(name)


def test_files_and_settings(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('core = "decompressor"\nbeat_bytes = 64\n')
    assert load(file).beat_bytes == 64
    file.write_text('lanes = 3\ncodings = ["float32", "zvc32"]\n')
    config = load_engine(file).with_settings(["lanes=2", "crc=false"])
    assert (config.lanes, config.codings, config.crc) == (2, ("zvc32", "float32"), False)
    assert config.with_settings(["codings=zvc32,zvc8"]).codings == ("zvc8", "zvc32")
    assert load_design(str(file)) == load_engine(file)


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
