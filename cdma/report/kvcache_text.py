"""What ``cdma kvcache`` prints in plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdma.console.output import count, fixed
from cdma.report.table import Table

if TYPE_CHECKING:
    from cdma.measure.kvcaches import KvOutcome

__all__ = ["kvcache_text"]

_WORDS = {"memory": "a device with memory enough", "offload": "rest over the link",
          "engine": "rest through the engine"}


def kvcache_text(outcome: KvOutcome) -> str:
    """What fits, then the rows."""
    fits, ratio = outcome.resident, outcome.measured
    away = [row for row in outcome.rows if row.row != "memory"]
    rows = [[_WORDS[row.row], fixed(row.compute_ms, 2), fixed(row.link_ms, 2), fixed(row.step_ms, 2),
             fixed(row.tokens_per_s, 1), fixed(row.link_gb, 2), fixed(row.host_gb, 2),
             f"{row.page_waste:.0%}" if row.host_gb else "", fixed(row.back_ms, 2) if row in away else ""]
            for row in outcome.rows]
    gain = away[0].step_ms / away[1].step_ms
    answer = "All of it is on the device: only contexts that come back use the link." if not fits.away else \
        f"{fits.away:.0%} of the cache is in host memory: the engine makes {gain:.2f} times the tokens a second."
    return (
        f"{outcome.network} ({outcome.about}), {outcome.dtype}, {count(outcome.batch)} sequences of "
        f"{count(outcome.context)} tokens, on {outcome.gpu_name} with {outcome.memory_gb:g} GB;\nlink "
        f"{outcome.link_gb_per_s:g} GB/s, engine {outcome.engine}; blocks of {outcome.block_tokens} tokens, "
        f"{count(outcome.block_bytes)} bytes of keys or values; pages of {count(outcome.page_bytes)};\nratio "
        f"{ratio.ratio:.3f} by {ratio.coding}, measured on {len(ratio.arrays)} arrays of {ratio.dump}:\n\n"
        f"{answer}\nKeys and values: {count(fits.token_bytes)} bytes a token, {fits.cache_gb:.2f} GB; weights "
        f"{fits.weights_gb:.2f} GB.\nAlone on the device: {count(fits.sequences)} of these contexts, or one "
        f"of {count(fits.longest)} tokens.\n\n"
        + Table(["keys and values", "compute ms", "link ms", "step ms", "tokens/s", "link GB", "host GB", "page waste",
                 "context back ms"], rows).text()
        + f"\n\nA step makes a token for each sequence. Context back: keys and values of one sequence over the link; "
        f"computing them again takes {fits.again_ms:.2f} ms.")
