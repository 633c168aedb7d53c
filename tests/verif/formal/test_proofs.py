"""Every shallow proof passes and reaches its covers; all others are at least well formed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.catalog import load_design, names
from cdma.verif.formal.run import choose, run
from cdma.verif.formal.table import PROOFS, proofs_of

REPO = Path(__file__).resolve().parents[3]
SHALLOW = choose(which="shallow")


@pytest.mark.parametrize("name", [proof.name for proof in SHALLOW])
def test_proof(name: str, build_dir: Path) -> None:
    proof, = [proof for proof in SHALLOW if proof.name == name]
    result = run(proof, build_dir / "formal")
    assert result.outcome == "passed", result.message
    assert result.covers and not result.missed


@pytest.mark.parametrize("preset", names())
def test_proofs_of_a_configuration_are_well_formed(preset: str) -> None:
    config = load_design(preset)
    proofs = proofs_of(config)
    assert len({proof.name for proof in proofs}) == len(proofs)
    assert any(proof.configured for proof in proofs) == (not isinstance(config, BlockCoreConfig))
    for proof in proofs:
        if proof.configured:
            assert proof.build().covers


def test_names_are_their_own_units_are_there_and_claims_are_sentences() -> None:
    assert len({proof.name for proof in PROOFS}) == len(PROOFS)
    for proof in PROOFS:
        assert (REPO / proof.unit).exists(), proof.name
        assert proof.claim[0].isupper() and proof.claim.endswith(".") and "{" not in proof.claim, proof.name


def _table(name: str) -> list[list[tuple[str, list[str]]]]:
    """The proofs in each column of a table of docs/verification.md, and the names behind each."""
    page = (REPO / "docs" / "verification.md").read_text()
    rows = page.partition(f"<!-- {name} -->")[2].partition(f"<!-- end of {name} -->")[0].strip().splitlines()[2:]
    return [[(proof, re.findall(r"`(\w+)`", names)) for proof, names in re.findall(r"`(\w+)`:((?: `\w+`)+)", cell)]
            for row in rows for cell in row.strip("|").split(" | ")]


def test_what_the_page_composes_is_there() -> None:
    promises, assumptions = _table("promises")[1::2], _table("assumptions")
    assert len(promises) > 9 and len(assumptions) > 19 and all(promises) and all(assumptions)
    named = [(proof, name, False) for cell in (*promises, *assumptions[1::2]) for proof, names in cell
             for name in names] + [(proof, name, True) for cell in assumptions[::2] for proof, names in cell
                                   for name in names]
    built = {proof.name: proof.build() for proof in PROOFS if proof.name in {each for each, _, _ in named}}
    for proof, name, assumed in named:
        assert proof in built, proof
        assert name in (built[proof].assumptions if assumed else built[proof].assertions), f"{proof}: {name}"


def test_readme_says_how_many_there_are() -> None:
    assert f"| proofs | {len(PROOFS)}: " in (REPO / "README.md").read_text()
