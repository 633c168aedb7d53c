"""What coverage there is, of the plan's features and of the Verilog of each design; read from folders.

Verilator writes a line for each point: a quoted list of keys and values with control characters between them, and a
count. (pyucis reads it into the objects of its database, which takes minutes for a design of 400,000 points; a regular
expression takes a second.)
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from pathlib import Path
from typing import Any, NamedTuple

from cdma.verif.common.counted import restored_points
from cdma.verif.common.cover import restored
from cdma.verif.coverage.plan import ACCESS, PLAN, Feature

__all__ = ["EXCLUSIONS", "GOALS", "Exclusion", "Point", "Samples", "add_up", "design_results", "functional", "judge",
           "of_points", "read_exclusions", "read_points", "read_report"]

GOALS = {"behaviour": 1.0, "access": 1.0, "line": 0.98, "toggle": 0.95, "python": 0.95}
"""Share of each kind that must be hit: of bins, those of registers and options apart; of lines and toggles, of each
design."""

Samples = Mapping[str, Mapping[str, int]]
"""Counts by feature and bin."""

_MOST_HOLES = 400

EXCLUSIONS = Path(__file__).with_name("exclusions.toml")
"""The exclusions of this project."""

_MOST_BITS = 256
"""Verilator counts no wider signals."""


@dataclass(frozen=True)
class Exclusion:
    """Names that do not have to be hit.

    Parameters
    ----------
    kind
        ``bin`` of the plan, or ``line`` or ``toggle`` of Verilog.
    name
        Pattern with ``*`` and ``?``; of Verilog, module and point with a colon between them.
    reason
        Why they cannot be hit, or need not be.
    signed
        Who looked at them.
    from_bit
        Of signals with this name, only bits from this number on; None for what the pattern says.
    """

    kind: str
    name: str
    reason: str
    signed: str
    from_bit: int | None = None

    @property
    def pattern(self) -> str:
        """The regular expression of its names."""
        # Brackets are indices of bits here, not sets of characters.
        name = translate(self.name.replace("[", "[[]"))
        if self.from_bit is None:
            return name
        return f"{name[:-2]}\\[(?:{'|'.join(map(str, range(self.from_bit, _MOST_BITS)))})\\]:"


def read_exclusions(path: Path = EXCLUSIONS) -> list[Exclusion]:
    """The exclusions in a file."""
    return [Exclusion(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("exclude", [])]


def judge(counts: Iterable[tuple[str, int]], exclusions: Iterable[Exclusion]) -> dict[str, Any]:
    """Judge names with their counts: ``total`` and ``hit``, how many there are that are not excluded, and were hit;
    ``holes``, those that were not; ``excluded``, how many are excluded and were not hit; and ``contradicted``, those
    that are excluded and were hit all the same, which count as hit."""
    every = re.compile("|".join(rule.pattern for rule in exclusions) or "(?!)")
    hit = excluded = 0
    holes, contradicted = [], []
    for name, count in counts:
        if count:
            hit += 1
            if every.match(name):
                contradicted.append(name)
        elif every.match(name):
            excluded += 1
        else:
            holes.append(name)
    return {"hit": hit, "total": hit + len(holes), "excluded": excluded, "holes": holes, "contradicted": contradicted}


_KINDS = {"line": "line", "branch": "line", "toggle": "toggle", "user": "cover"}
"""What Verilator's kinds of points count as. A branch of an ``if`` or ``case`` is the lines in it."""

_POINT = re.compile(r"^C '(.*)' (\d+)$")
_KEY = re.compile("\x01([A-Za-z]+)\x02([^\x01]*)")
# Verilator writes what is no letter as two underscores, a zero and two digits.
_ESCAPED = re.compile("__0([0-9A-F]{2})", re.IGNORECASE)
_PARAMETERS = re.compile(r"__(pi\d+|[A-Za-z0-9_]*_?[A-Z]+\d+)$")


class Point(NamedTuple):
    """A point of a design, in one of its instances.

    Parameters
    ----------
    kind
        ``line``, ``toggle`` or ``cover``.
    module
        That it is in; in a generated design, the path of its first instance.
    name
        Of a toggle the bit and its edge, of a line where it is and what it is, of a cover its label.
    instance
        Path of the instance from the top.
    count
        How often it was seen.
    """

    kind: str
    module: str
    name: str
    instance: str
    count: int


def read_points(text: str) -> Iterator[Point]:
    """The points of a file that Verilator wrote.

    Raises
    ------
    ValueError
        If it is no such file.
    """
    lines = text.splitlines()
    if not lines or not lines[0].startswith("# SystemC::Coverage"):
        raise ValueError("this is no coverage of Verilator: its first line must begin with # SystemC::Coverage; "
                         "simulate with a design that was compiled with --coverage")
    for number, line in enumerate(lines[1:], 2):
        found = _POINT.match(line)
        if found is None:
            raise ValueError(f"line {number} of the coverage is not a point and its count: {line[:80]!r}; simulate "
                             "again")
        keys = dict(_KEY.findall(found[1]))
        kind = _KINDS.get(keys.get("t", ""))
        if kind is None:
            raise ValueError(f"line {number} of the coverage has the unknown kind {keys.get('t')!r}; known are "
                             f"{', '.join(_KINDS)}")
        module = _PARAMETERS.sub("", keys["page"].partition("/")[2])
        # Several branches may begin in one line, and expressions of one line have columns.
        name = f"{keys['l']}.{keys['n']} {keys['o']}" if kind == "line" else _ESCAPED.sub(
            lambda found: chr(int(found[1], 16)), keys["o"])
        yield Point(kind, module, name, keys.get("h", ""), int(found[2]))


def add_up(parts: Iterable[Samples]) -> dict[str, dict[str, int]]:
    """The samples of several simulations together."""
    total: dict[str, Counter[str]] = {}
    for part in parts:
        for feature, counts in part.items():
            total.setdefault(feature, Counter()).update(counts)
    return {feature: dict(counts) for feature, counts in total.items()}


def of_points(points: Iterable[Point]) -> dict[str, dict[str, int]]:
    """The samples that a design's memories counted: covers that are labelled ``feature__bin``, by memory."""
    found: dict[str, Counter[str]] = {}
    for point in points:
        if point.kind == "cover":
            feature, _, name = point.name.partition("__")
            memory = (*point.instance.split("."), "")[1]
            found.setdefault(feature, Counter())[name if feature == "read_order" else f"{memory}:{name}"] += point.count
    return {feature: dict(counts) for feature, counts in found.items()}


def functional(samples: Samples, exclusions: Sequence[Exclusion] = (),
               plan: Sequence[Feature] = PLAN) -> list[dict[str, Any]]:
    """The result of each feature of the plan, as :func:`judge` gives it with ``bins``
    for their total; and ``unplanned``, bins that were sampled and are not in the plan."""
    results = []
    for feature in plan:
        counts = samples.get(feature.name, {})
        own = [replace(rule, name=rule.name.partition("/")[2]) for rule in exclusions
               if rule.kind == "bin" and rule.name.partition("/")[0] == feature.name]
        judged = judge(((name, counts.get(name, 0)) for name in feature.bins), own)
        results.append({"feature": feature.name, "room": feature.room, "about": feature.about,
                        "bins": judged.pop("total"), **judged, "unplanned": sorted(set(counts) - set(feature.bins))})
    return results


def design_results(design: str, points: Iterable[Point], exclusions: Sequence[Exclusion] = ()) -> list[dict[str, Any]]:
    """Line and toggle coverage of a design, instances of a module together, as :func:`functional` with ``points`` for
    ``bins``; memories and the top of the bench do not count."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for point in points:
        module = point.module
        if (module.startswith(design) and not module.startswith("cdma_memory")
                and not module.endswith(("_bench", "_sram"))):
            counts[point.kind, module.removeprefix(design).lstrip(".") or "top", point.name] += point.count
    # Bits of signals whose fields are signals, too, are the same ones.
    fields = {(module, _signal(name)) for kind, module, name in counts if kind == "toggle"}
    parents = {(module, name.rpartition(".")[0]) for module, name in fields if "." in name}
    results = []
    for kind in ("line", "toggle"):
        named = [(f"{module}:{name}", count) for (of, module, name), count in counts.items()
                 if of == kind and (kind == "line" or (module, _signal(name)) not in parents)]
        judged = judge(named, [each for each in exclusions if each.kind == kind])
        results.append({"design": design, "kind": kind, "points": judged.pop("total"), **judged} | {
            name: judged[name][:_MOST_HOLES] for name in ("holes", "contradicted")})
    return results


def _signal(point: str) -> str:
    return point.partition("[")[0].partition(":")[0]


def read_report(folders: Sequence[Path], exclusions: Sequence[Exclusion] | None = None) -> dict[str, Any]:
    """The coverage in folders, of this machine or of several, together: how many ``simulations`` wrote samples, the
    results of ``features`` and ``designs``, the ``exclusions``, and by kind the ``shares`` that are hit, of lines and
    toggles in the design that has least, None where nothing was measured, and which kinds ``missed`` their goals.

    Exclusions are those of this project when not given.

    Raises
    ------
    ValueError
        If a folder has no coverage.
    """
    rules = list(read_exclusions() if exclusions is None else exclusions)
    samples: list[Samples] = []
    texts: dict[str, list[str]] = {}
    count = 0
    for folder in folders:
        written = restored(folder)
        found = list(restored_points(folder))
        if not written and not found:
            raise ValueError(f"{folder} has no coverage: give a folder that make coverage wrote")
        count += len(written)
        samples += written
        for name, text in found:
            texts.setdefault(name, []).append(text)
    designs: list[dict[str, Any]] = []
    for name, of_design in texts.items():
        points = [point for text in of_design for point in read_points(text)]
        samples.append(of_points(points))
        designs += design_results(name.rsplit("-", 2)[0].removesuffix("_bench"), points, rules)
    features = functional(add_up(samples), rules)
    shares: dict[str, float | None] = {}
    for kind in ("behaviour", "access"):
        own = [each for each in features if (each["room"] in ACCESS) is (kind == "access")]
        shares[kind] = sum(each["hit"] for each in own) / sum(each["bins"] for each in own)
    for kind in ("line", "toggle"):
        shares[kind] = min((each["hit"] / each["points"] for each in designs if each["kind"] == kind), default=None)
    return {"simulations": count, "features": features, "designs": designs, "exclusions": rules, "shares": shares,
            "missed": [kind for kind, share in shares.items() if share is not None and share < GOALS[kind]]}
