"""The rule modules: their text, and a table of all rules that is read from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

__all__ = ["FILES", "Rule", "rules", "source"]

FILES = ("axi4_write.v", "axi4_read.v", "axi4_lite.v", "axi4_stream.v")
"""The files beside this one. Each has one module, named like the file with ``_rules`` behind it, and needs no other."""

_RULE = re.compile(r"^ +// ([^:\n]+): ([^`]+?)\n +`AXI_RULE\(ASSERT_(\w+), (\w+), (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Rule:
    """A rule.

    Parameters
    ----------
    name : str
        As it is reported.
    module : str
        The module that has it.
    side : str
        Who has to keep it: ``manager`` or ``subordinate``; of streams the transmitter is the manager.
    clause : str
        The part of the specification that demands it, or the parameter that does.
    text : str
        What it demands.
    four_state : bool
        Whether only simulators that know X can check it.
    """

    name: str
    module: str
    side: str
    clause: str
    text: str
    four_state: bool


@lru_cache
def source(*files: str) -> str:
    """The text of rule modules, of all when none is named.

    Raises
    ------
    ValueError
        If there is no such file.
    """
    for name in files:
        if name not in FILES:
            raise ValueError(f"there are no rules in {name!r}: choose from {', '.join(FILES)}")
    return "\n".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in files or FILES)


@lru_cache
def rules() -> tuple[Rule, ...]:
    """All rules in the order of the files."""
    return tuple(
        Rule(name, f"{Path(file).stem}_rules", side.lower(), clause, " ".join(text.replace("//", " ").split()),
             "`AXI_KNOWN" in condition)
        for file in FILES for clause, text, side, name, condition in _RULE.findall(source(file)))

