"""The tree is as docs/architecture.md draws it: rooms depend downwards only, and tests mirror what they test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("cdma", "golden", "hdl", "synth", "verif", "workload")

BELOW = {
    "golden": (), "hdl": (),
    "verif": ("golden", "hdl", "cdma/driver"), "synth": ("golden", "hdl"), "workload": ("golden", "hdl"),
    "cdma": ("golden", "hdl", "synth", "verif", "workload"),
}
"""Which packages or rooms a package may import from, beside itself."""

LAYERS = {
    "hdl": ["common", "codec", "config", "engine", "generate", "litex", "selftest"],
    "hdl/codec": [["lines", "blocks", "narrowing", "payload"]],
    "hdl/engine": ["axi", "transfer", ["lanes", "link", "control"], "paths", "engine"],
    "golden": [["reference", "codec/layout", "codec/buffers"], ["c", "kernels"], "codec", "engine", "bench"],
    "verif": ["common", "rules", ["core", "engine"], "soc", "formal", "regression", "soak", "coverage"],
    "workload": ["data", "dumps", ["characterise", "networks"], "timeline",
                 ["alternatives", "serving", "verdict"], "capturing", "training", "plan", "results"],
    "cdma": ["driver", "gpu", "engines", "console", "measure", "report", "commands"],
    "cdma/commands": [["alternatives", "area", "bench", "board", "capture", "characterise", "compress",
                       "decompress", "generate", "gpu", "info", "kvcache", "plan", "prove", "results", "rules",
                       "simulate", "soak", "soc", "timeline", "timing", "train", "verify"]],
}
"""The rooms of a folder from the lowest up; a room imports from rooms before it only, never from one beside it."""

SEALED = {
    "golden/reference": ("golden/reference",),
    "hdl/common": ("hdl/common",),
    "hdl/codec": ("hdl/common", "hdl/codec"),
    "hdl/engine/axi": ("hdl/common", "hdl/engine/axi"),
    "cdma/driver": ("golden", "hdl", "cdma/driver"),
}
"""Rooms that import from nowhere else."""


def _modules(folder: str) -> Iterator[Path]:
    return (path for path in sorted((ROOT / folder).rglob("*.py")) if "__pycache__" not in path.parts)


@cache
def _imports(path: Path) -> list[str]:
    """What a module imports from the project's packages, as paths without a suffix."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            module = _place(node.module)
            names = [f"{module}.{alias.name}".lstrip(".") if _is_module(f"{module}.{alias.name}".lstrip("."))
                     else module for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [_place(alias.name) for alias in node.names]
        found += [name.replace(".", "/") for name in names if name.split(".")[0] in PACKAGES]
    return found


def _place(module: str) -> str:
    """A module by its place in the tree: ``cdma.hdl.common`` is in ``hdl/common``."""
    inside = module.removeprefix("cdma").removeprefix(".")
    return inside if inside.partition(".")[0] in PACKAGES or module == "cdma" else module


def _is_module(name: str) -> bool:
    place = ROOT / name.replace(".", "/")
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def _inside(name: str, room: str) -> bool:
    return name == room or name.startswith(f"{room}/")


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_downwards(package: str) -> None:
    wrong = [f"{path.relative_to(ROOT)} imports {name}" for path in _modules(package) for name in _imports(path)
             if not any(_inside(name, each) for each in (package, *BELOW[package]))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", LAYERS)
def test_rooms_import_downwards(folder: str) -> None:
    rank: dict[str, int] = {}
    for level, rooms in enumerate(LAYERS[folder]):
        for room in [rooms] if isinstance(rooms, str) else rooms:
            rank[f"{folder}/{room}"] = level

    def room_of(name: str) -> str | None:
        found = [room for room in rank if _inside(name, room)]
        return max(found, key=len) if found else None

    wrong = []
    for path in _modules(folder):
        name = path.relative_to(ROOT).with_suffix("").as_posix()
        own = room_of(name)
        if own is None:
            continue
        for other in _imports(path):
            there = room_of(other)
            if there is not None and there != own and rank[there] >= rank[own]:
                wrong.append(f"{name} imports {other}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", LAYERS)
def test_every_room_has_a_layer(folder: str) -> None:
    named = [room for rooms in LAYERS[folder] for room in ([rooms] if isinstance(rooms, str) else rooms)]
    there = [path.name for path in (ROOT / folder).iterdir()
             if (path / "__init__.py").is_file() and not path.is_symlink()]
    assert not set(there) - set(named)
    assert all(_is_module(f"{folder}/{room}".replace("/", ".")) for room in named)


@pytest.mark.parametrize("room", SEALED)
def test_leaf_rooms_import_nothing_else(room: str) -> None:
    wrong = [f"{path.relative_to(ROOT)} imports {name}" for path in _modules(room) for name in _imports(path)
             if not any(_inside(name, allowed) for allowed in SEALED[room])]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_says_in_one_line_what_it_is_for(package: str) -> None:
    for folder in {path.parent for path in _modules(package)}:
        room = folder / "__init__.py"
        assert room.is_file(), f"{folder.relative_to(ROOT)} has no __init__.py"
        text = ast.get_docstring(ast.parse(room.read_text(encoding="utf-8")))
        assert text and "\n" not in text, f"{room.relative_to(ROOT)}: one line that says what the room is for"


@pytest.mark.parametrize("package", PACKAGES)
def test_tests_mirror_the_tree(package: str) -> None:
    """Every folder of tests/PACKAGE is a folder of PACKAGE, and every folder with components has tests."""
    tests = ROOT / "tests" / package
    own = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    tree = {path.parent.relative_to(ROOT / package) for path in _modules(package)}
    assert own <= tree | {Path("selftest")}, f"no such room in {package}: {sorted(map(str, own - tree))}"


def test_the_architecture_page_draws_this_tree() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    for folder in [*PACKAGES, *LAYERS]:
        for room in (ROOT / folder).iterdir():
            if (room / "__init__.py").is_file() and not room.is_symlink():
                assert re.search(rf"`?{re.escape(room.name)}/`?", page), f"docs/architecture.md misses {room}"


def test_paths_on_the_architecture_page_are_there() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:cdma|docs|golden|hdl|synth|tests|tools|verif|workload)/[\w/.-]+)`", page)
    assert paths
    missing = [path for path in paths if not (ROOT / path).exists()]
    assert not missing, f"docs/architecture.md names what is not there: {missing}"
