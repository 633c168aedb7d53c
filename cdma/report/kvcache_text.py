"""What ``cdma kvcache`` prints in plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdma.console.output import count
from cdma.report.table import Column, Table

__all__ = ["kvcache_text"]

_WORDS = {"memory": "a device with memory enough", "offload": "rest over the link",
          "engine": "rest through the engine"}


def kvcache_text(outcome: Mapping[str, Any]) -> str:
    """What fits, then the rows."""
    fits, ratio = outcome["resident"], outcome["measured"]
    rows = Table([Column("keys and values", lambda row: _WORDS[row["row"]]), Column("compute ms", "compute_ms", ".2f"),
                  Column("link ms", "link_ms", ".2f"), Column("step ms", "step_ms", ".2f"),
                  Column("tokens/s", "tokens_per_s", ".1f"), Column("link GB", "link_gb", ".2f"),
                  Column("host GB", "host_gb", ".2f"),
                  Column("page waste", lambda row: row["page_waste"] if row["host_gb"] else None, ".0%"),
                  Column("context back ms", lambda row: None if row["row"] == "memory" else row["back_ms"], ".2f")],
                 outcome["rows"])
    _, plain, engine = outcome["rows"]
    answer = "All of it is on the device: only contexts that come back use the link." if not fits["away"] else \
        (f"{fits['away']:.0%} of the cache is in host memory: the engine makes "
         f"{plain['step_ms'] / engine['step_ms']:.2f} times the tokens a second.")
    return (
        "{network} ({about}), {dtype}, {batch:,} sequences of {context:,} tokens, on {gpu_name} with {memory_gb:g} "
        "GB;\nlink {link_gb_per_s:g} GB/s, engine {engine}; blocks of {block_tokens} tokens, {block_bytes:,} bytes of "
        "keys or values; pages of {page_bytes:,};\n".format(**outcome)
        + f"ratio {ratio['ratio']:.3f} by {ratio['coding']}, measured on {len(ratio['arrays'])} arrays of "
        f"{ratio['dump']}:\n\n{answer}\nKeys and values: {count(fits['token_bytes'])} bytes a token, "
        f"{fits['cache_gb']:.2f} GB; weights {fits['weights_gb']:.2f} GB.\nAlone on the device: "
        f"{count(fits['sequences'])} of these contexts, or one of {count(fits['longest'])} tokens.\n\n"
        f"{rows.text()}\n\nA step makes a token for each sequence. Context back: keys and values of one sequence over "
        "the link; "
        f"computing them again takes {fits['again_ms']:.2f} ms.")
