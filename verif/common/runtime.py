"""The runtime of Verilator, compiled once for all designs: a quarter of the time of a small one's build.

Every design is linked with the same few sources of Verilator. Their objects depend on versions and options alone, so
the first build keeps them and the others start with copies, which ``make`` takes for its own. The main program of
cocotb, verilator.o, is compiled for each: it includes the header of the design.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from cdma.verif.common import tools

__all__ = ["keep", "objects", "place", "use"]


def place(build_dir: Path, options: Sequence[str]) -> Path:
    """Where the objects for these options of Verilator are kept, or will be."""
    key = json.dumps([tools.version("verilator"), _compiler(), list(options),
                      Path(tools.__file__).read_text(encoding="utf-8")])
    return build_dir / f"verilator-runtime-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def objects(folder: Path) -> list[str]:
    """The names of the runtime's objects in a folder."""
    return sorted(file.name for file in folder.glob("verilated*.o"))


def use(kept: Path, folder: Path) -> None:
    """Copy the kept objects, if there are any, into the folder of a build that has not begun."""
    for name in objects(kept):
        shutil.copyfile(kept / name, folder / name)


def keep(kept: Path, folder: Path) -> None:
    """Keep the objects of a build, unless another build has done so."""
    if kept.exists():
        return
    new = folder / "runtime.new"
    new.mkdir()
    for name in objects(folder):
        shutil.copyfile(folder / name, new / name)
    try:
        new.rename(kept)
    except OSError:
        # A build at the same time was first.
        shutil.rmtree(new)


@lru_cache
def _compiler() -> str:
    return subprocess.run(["c++", "--version"], capture_output=True, text=True, check=False).stdout.partition("\n")[0]
