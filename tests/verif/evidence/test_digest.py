"""The digest of the RTL sees what changes hardware, and nothing else."""

from pathlib import Path

import pytest

from cdma.verif.evidence.digest import ROOT, rtl_digest

_SOURCE = '"""A counter."""\n\n\nclass Counter:\n    """Counts."""\n\n    def step(self, m):\n        m.d.sync += 1\n'


def _tree(folder: Path, source: str = _SOURCE, preset: str = 'about = "small"\nlanes = 1\n') -> Path:
    for name in ("hdl/common", "hdl/generate", "hdl/config/presets"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "hdl/common/counter.py").write_text(source, encoding="utf-8")
    (folder / "hdl/generate/write.py").write_text("FORMAT = 1\n", encoding="utf-8")
    (folder / "hdl/config/presets/tiny.toml").write_text(preset, encoding="utf-8")
    return folder


@pytest.mark.parametrize("source", [
    _SOURCE.replace("Counts.", "Counts up."), _SOURCE.replace("+= 1", "+= 1  # one a cycle"), f"\n{_SOURCE}\n",
    _SOURCE.replace('"""A counter."""\n', "")])
def test_comments_and_docstrings_do_not_count(tmp_path: Path, source: str) -> None:
    assert rtl_digest(_tree(tmp_path / "old")) == rtl_digest(_tree(tmp_path / "new", source))


@pytest.mark.parametrize("source", [
    _SOURCE.replace("+= 1", "+= 2"), _SOURCE.replace("sync", "comb"), f"{_SOURCE}    SIZE = 4\n"])
def test_any_change_of_code_counts(tmp_path: Path, source: str) -> None:
    assert rtl_digest(_tree(tmp_path / "old")) != rtl_digest(_tree(tmp_path / "new", source))


def test_presets_count_without_their_description(tmp_path: Path) -> None:
    old = rtl_digest(_tree(tmp_path / "old"))
    assert old == rtl_digest(_tree(tmp_path / "same", preset='about = "for boards"\nlanes = 1\n'))
    assert old != rtl_digest(_tree(tmp_path / "new", preset='about = "small"\nlanes = 2\n'))


def test_a_file_that_moves_counts_and_files_beside_the_verilog_do_not(tmp_path: Path) -> None:
    old = rtl_digest(_tree(tmp_path))
    (tmp_path / "hdl/generate/write.py").write_text("FORMAT = 2\n", encoding="utf-8")
    assert old == rtl_digest(tmp_path)
    (tmp_path / "hdl/common/counter.py").rename(tmp_path / "hdl/common/counters.py")
    assert old != rtl_digest(tmp_path)


def test_the_digest_of_the_project_is_reproducible() -> None:
    assert rtl_digest() == rtl_digest(ROOT)
    assert len(rtl_digest()) == 16


def test_a_folder_without_hardware_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no folder hdl"):
        rtl_digest(tmp_path)
