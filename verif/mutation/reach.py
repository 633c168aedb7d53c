"""Which tests reach a unit, by what they import; and what they do without a mutant."""

from __future__ import annotations

import ast
import hashlib
import json
from collections import deque
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cdma.hdl.config.files import write_file
from cdma.verif.evidence.digest import ROOT
from cdma.verif.mutation.children import Children
from cdma.verif.mutation.mutant import Mutant

__all__ = ["BASE_LIMIT", "WHOLE", "Baselines", "distances", "own_tests", "reaches", "read_times"]

BASE_LIMIT = 900.0
"""Seconds of a processor that the tests of a file may take without a mutant."""

WHOLE = {
    "hdl/codec/lines/compressor.py": "compressor", "hdl/codec/lines/compressor_stages.py": "compressor",
    "hdl/codec/lines/decompressor.py": "decompressor", "hdl/codec/lines/decompressor_state.py": "decompressor",
    "hdl/engine/engine.py": "tiny",
}
"""Whole designs, and what only they consist of: benches of the Verilog of a chosen design are their own tests."""

_LEFT_OUT = ("tests/hdl/generate/", "tests/hdl/config/", "tests/hdl/test_")
"""Tests of what is made from the hardware, and of the tests' own tools."""


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    """Files of ``hdl`` and of ``tests/hdl`` that a file imports."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    files = (ROOT / f"{name.replace('.', '/')}.py" for name in names if name.startswith(("hdl.", "tests.hdl.")))
    return tuple(dict.fromkeys(file for file in files if file.is_file()))


@cache
def distances(path: str) -> dict[str, int]:
    """Files of tests that reach a unit by imports: over how many files of ``hdl``, 1 for those that import it."""
    importers: dict[Path, list[Path]] = {}
    for file in sorted([*(ROOT / "hdl").rglob("*.py"), *(ROOT / "tests" / "hdl").rglob("*.py")]):
        for other in _imports(file):
            importers.setdefault(other, []).append(file)
    found = {ROOT / path: 0}
    queue = deque(found)
    while queue:
        file = queue.popleft()
        for other in importers.get(file, ()):
            # A helper of tests is a part of the test that imports it.
            step = int(file.is_relative_to(ROOT / "hdl"))
            if found[file] + step < found.get(other, 1 << 30):
                found[other] = found[file] + step
                queue.append(other) if step else queue.appendleft(other)
    names = {file.relative_to(ROOT).as_posix(): number for file, number in found.items()
             if file.name.startswith("test_")}
    return {name: number for name, number in names.items() if not name.startswith(_LEFT_OUT)}


def own_tests(path: str) -> list[str]:
    """The tests of a unit: those that are named as it is, and the nearest by imports, in its own folder and in all.

    For a part that no test imports, those are the tests of what it is a part of. Whole designs have none: their Verilog
    is simulated.
    """
    if path in WHOLE:
        return []
    found = distances(path)
    unit = Path(path)
    folder = f"tests/{unit.parent.as_posix()}/"
    chosen = {name for name in found if name.startswith(f"{folder}test_{unit.stem}")}
    for place in (folder, "tests/"):
        inside = {name: number for name, number in found.items() if name.startswith(place)}
        chosen |= {name for name, number in inside.items() if number == min(inside.values())}
    return sorted(chosen, key=lambda name: (not name.startswith(f"{folder}test_{unit.stem}"), name))


class Baselines:
    """What happens without a mutant, kept in a folder while the sources do not change: seconds, and lines that run.

    Parameters
    ----------
    folder
        Where it is kept.
    children
        What runs it.
    times
        A JUnit file of pytest, with the seconds that tests took: those that are in it need not be run.
    """

    def __init__(self, folder: Path, children: Children, times: Path | None = None) -> None:
        self._folder = folder
        self._children = children
        self._times = {} if times is None else read_times(times)
        self._sources = _digest([*(ROOT / "hdl").rglob("*.py"), ROOT / "verif" / "mutation" / "jobs.py"])
        self._helpers = _digest(file for file in (ROOT / "tests" / "hdl").rglob("*.py")
                                if not file.name.startswith("test_"))

    def tests(self, file: str) -> float:
        """Seconds of a processor that the tests of a file take.

        Raises
        ------
        ValueError
            If a test fails.
        """
        if file in self._times:
            return self._times[file]
        return self._kept(file, f"{self._sources} {self._helpers} {_digest([ROOT / file])}", "tests",
                          files=[file])["processor_s"]

    def proof(self, name: str) -> float:
        """Seconds that a proof takes."""
        code = _digest((ROOT / "verif" / "formal").rglob("*.py"))
        return self._kept(f"proof {name}", f"{self._sources} {code}", "proof", proof=name,
                          limit=BASE_LIMIT)["processor_s"]

    def netlist(self, design: str) -> dict[str, Any]:
        """Those of a design: ``digest`` and ``lines``."""
        code = _digest([ROOT / "verif" / "coverage" / "runs.py", *(ROOT / "hdl").rglob("*.toml")])
        return self._kept(f"netlist {design}", f"{self._sources} {code}", "netlist", design=design, lines=True)

    def bench(self, design: str, step: str) -> float:
        """Seconds that a bench takes."""
        code = _digest(file for room in ("common", "core", "engine", "regression")
                       for file in (ROOT / "verif" / room).rglob("*.py"))
        return self._kept(f"bench {design} {step}", f"{self._sources} {code}", "bench", design=design, step=step,
                          builds=str(self._folder.resolve() / "builds"))["processor_s"]

    def _kept(self, name: str, key: str, work: str, **given: Any) -> dict[str, Any]:
        place = self._folder / f"{name.replace('/', '-').replace(' ', '-')}.json"
        if place.exists():
            stored = json.loads(place.read_text(encoding="utf-8"))
            if stored["key"] == key:
                return stored["found"]
        found = self._children.do(work, BASE_LIMIT, **given)
        if found["outcome"] != "passed":
            raise ValueError(f"{name} fails without a mutant, so it says nothing about one: {found['outcome']} "
                             f"{found['by']} {found['said']}")
        place.parent.mkdir(parents=True, exist_ok=True)
        write_file(place, json.dumps({"key": key, "found": found}))
        return found


def read_times(file: Path) -> dict[str, float]:
    """Seconds of each file of tests in a JUnit file of pytest.

    Raises
    ------
    ValueError
        If the file is missing, or is none.
    """
    try:
        cases = list(ElementTree.parse(file).getroot().iter("testcase"))
    except FileNotFoundError as error:
        raise ValueError(f"{file} does not exist: give a file that pytest --junitxml wrote") from error
    except (OSError, ElementTree.ParseError) as error:
        raise ValueError(f"{file} is no JUnit file of pytest: {error}") from error
    found: dict[str, float] = {}
    for case in cases:
        name = f"{case.get('classname', '').replace('.', '/')}.py"
        found[name] = found.get(name, 0.0) + float(case.get("time", 0))
    return found


def reaches(found: dict[str, Any], mutant: Mutant) -> bool:
    """Whether a line of the mutant's statement runs in a design."""
    return any(mutant.first <= line <= mutant.last for line in found["lines"].get(mutant.path, ()))


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.relative_to(ROOT)}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
