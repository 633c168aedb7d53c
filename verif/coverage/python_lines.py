"""Lines of this project's Python that tests ran, as the package ``coverage`` counts them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cdma.verif.coverage.exclusions import Exclusion
from cdma.verif.evidence.digest import ROOT

__all__ = ["PACKAGES", "PackageResult", "python_results", "run_tests", "settings"]

PACKAGES = ("cdma", "golden", "hdl", "synth", "verif", "workload")
"""Packages that are measured."""

# From Python 3.12 on, counting costs little; before, tests that simulate units take three times as long with it.
_CORE = "core = sysmon" if sys.version_info >= (3, 12) else "core = ctrace"

_SETTINGS = """\
[run]
source =
{sources}
data_file = {data}
parallel = true
concurrency = multiprocessing,thread
patch = _exit
disable_warnings = no-data-collected,module-not-imported,module-not-measured
{core}
[report]
exclude_also =
    if TYPE_CHECKING:
    @overload
    class .*Protocol.*:
    ^\\s*\\.\\.\\.$
"""


@dataclass(frozen=True)
class PackageResult:
    """Lines of a package.

    Parameters
    ----------
    package
        Its name.
    lines, hit
        Statements that are not excluded, and those that ran.
    holes
        Files with statements that did not run: path and how many.
    """

    package: str
    lines: int
    hit: int
    holes: tuple[tuple[str, int], ...]


def settings(folder: Path, root: Path = ROOT) -> Path:
    """Write the settings by which each process of a test run measures itself; the path is for
    ``COVERAGE_PROCESS_START``."""
    place = folder.resolve() / "python"
    place.mkdir(parents=True, exist_ok=True)
    sources = "\n".join(f"    {root / package}" for package in PACKAGES)
    path = folder.resolve() / "coveragerc"
    path.write_text(_SETTINGS.format(sources=sources, data=place / "data", core=_CORE), encoding="utf-8")
    return path


def python_results(folders: Sequence[Path], exclusions: Sequence[Exclusion] = (),
                   root: Path = ROOT) -> tuple[PackageResult, ...]:
    """The lines of each package that ran, by the data in folders; none where there are no data.

    Raises
    ------
    ValueError
        If the package ``coverage`` is not installed.
    """
    files = [str(path) for folder in folders for path in sorted((folder / "python").glob("data*"))]
    if not files:
        return ()
    try:
        from coverage import Coverage
    except ImportError as error:
        raise ValueError(f"lines of Python need the package coverage ({sys.executable} -m pip install coverage)"
                         ) from error
    rules = [each for each in exclusions if each.kind == "python"]
    with tempfile.TemporaryDirectory() as place:
        rc = settings(Path(place), root)
        measured = Coverage(data_file=str(Path(place) / "all"), config_file=str(rc))
        measured.combine(files, strict=True, keep=True)
        counted: dict[str, tuple[int, int, list[tuple[str, int]]]] = {}
        for path in sorted(path for package in PACKAGES for path in (root / package).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            if any(rule.holds(name) for rule in rules):
                continue
            _, statements, _, missing, _ = measured.analysis2(str(path))
            lines, hit, holes = counted.setdefault(name.partition("/")[0], (0, 0, []))
            if missing:
                holes.append((name, len(missing)))
            counted[name.partition("/")[0]] = lines + len(statements), hit + len(statements) - len(missing), holes
    return tuple(PackageResult(package, *counted[package][:2], tuple(counted[package][2])) for package in counted)


def run_tests(paths: Sequence[Path], folder: Path, part: tuple[int, int] = (1, 1), root: Path = ROOT) -> int:
    """Run tests, and measure the lines of all processes that they start; returns pytest's exit code.

    What pytest prints goes to standard error.

    Parameters
    ----------
    part
        Which part of how many: of the files of tests, in turn.
    """
    files = sorted(file.resolve() for path in paths for file in ([path] if path.is_file() else path.rglob("test_*.py"))
                   if not {"torch", "soc"} & set(file.parts))
    if not files:
        raise ValueError(f"there are no tests in {', '.join(map(str, paths))}: give files or folders with test_*.py")
    number, parts = part
    chosen = files[number - 1::parts]
    environment = {**os.environ, "CDMA_REGRESSION": "extended", "COVERAGE_PROCESS_START": str(settings(folder, root))}
    # More processes than files would only be started.
    jobs = min(os.cpu_count() or 1, len(chosen))
    # Standard output is for the results of the measurement; 2 is standard error, whatever Python has in its place.
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", str(jobs), "--dist", "worksteal",
                           *map(str, chosen)], cwd=root, env=environment, stdout=2, check=False).returncode
