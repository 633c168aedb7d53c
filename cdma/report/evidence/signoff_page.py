"""The page docs/signoff.md: the checklist, the configurations that are supported, and what is not covered."""

from __future__ import annotations

from cdma.hdl.config.catalog import kinds
from cdma.report.evidence.checklist import STAGES, Item, checklist, reached, stale_sections
from cdma.report.page import Page, Section
from cdma.report.parts import Part, Table
from cdma.verif.evidence.digest import rtl_digest
from cdma.verif.evidence.store import Evidence

__all__ = ["LIMITS", "signoff_page"]

LIMITS = (
    ("No silicon and no board: everything here is simulation, proof and synthesis. Images for boards are simulated, "
     "placed and routed."),
    ("Configurations that are neither presets nor in the sweep are drawn at random by `make soak`, and there are more "
     "of them than can be simulated: run [`cdma verify`](ci.md) on yours."),
    ("No simulation of a netlist after synthesis or of delays, and no scan chains: those belong to your flow. The RTL "
     "has no latches, no tristates, and one clock, or two with [`link_clock`](integration.md)."),
    ("Clock crossings are simulated with random sampling and unrelated clocks, and constrained; no CDC tool of a "
     "vendor was run."),
    ("Proofs of codecs are bounded, each to the depth that it states, and of blocks that a parameter makes smaller. "
     "Longer blocks are simulated."),
    ("Memory macros are modelled by the wrapper of the hand-over. Parity finds an odd number of flipped bits and "
     "corrects none."),
)
"""What a reader must not expect of the sign-off."""


def signoff_page(evidence: Evidence) -> Page:
    """The page."""
    items = checklist(evidence)
    stages = [_stage(name, items) for name in STAGES]
    return Page("Sign-off", [_head(items, evidence), *stages, _supported(), _limits()])


def _head(items: list[Item], evidence: Evidence) -> Section:
    stage = reached(items)
    met = sum(item.met for item in items)
    says = "No stage is reached" if stage is None else f"Stage {stage} is reached"
    parts: list[Part] = [
        ("For those who put the engine into their chip: what was checked, how far, with which command, on which "
         "commit. The stages:"),
        tuple(f"**{name}**: {meaning}." for name, meaning in STAGES.items()),
        f"**{says}**: {met} of {len(items)} items are met by results of this RTL (digest `{rtl_digest()}`).",
        ("`make signoff` makes this page again from docs/verification.json, and fails when a result is older than the "
         "RTL. [Verification](verification.md) has the results in full, and how to reproduce them.")]
    if stale := stale_sections(evidence):
        parts.append(f"Missing, or older than the RTL: {', '.join(stale)}. Such results say what held of the RTL of "
                     "their commit. While the hardware is being changed, what a change touches is proved and simulated "
                     "with it; all results are recorded again, at once, on the final RTL.")
    return Section("", parts)


def _stage(name: str, items: list[Item]) -> Section:
    rows = [["yes" if item.met else "**no**", item.claim, item.target, item.figure, f"`{item.command}`", item.commit,
             item.date] for item in items if item.stage == name]
    return Section(f"{name}: {STAGES[name]}", [
        Table(["met", "what", "target", "figure", "command", "commit", "date"], rows, left=(0, 1, 2, 3, 4, 5, 6))])


def _supported() -> Section:
    rows = [[f"`{name}`", kind.replace("_", " "), str(config.as_dict()["about"])]
            for kind, (_, presets) in kinds().items() for name, config in presets.items()]
    return Section("Supported configurations", [
        ("Every preset is generated and simulated in every `make test`; with `make test-extended`, each is linted "
         "too and gets more stimuli:"),
        Table(["preset", "kind", "what it is for"], rows, left=(0, 1, 2)),
        ("Other parameters within the ranges of [Configuration](configuration.md) are supported too: a sweep of "
         "engines has every pair of options, and `make soak` draws others.")])


def _limits() -> Section:
    return Section("What is not covered", [LIMITS])
