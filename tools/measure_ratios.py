"""Writes workload/networks/ratios.json: ratios by what made a tensor's values, measured on the shipped dumps.

The dense dump has bfloat16. For float32, each value of its arrays gets sixteen random bits behind it: exponent coding
stores the bits of a mantissa as they are, so that only their number counts.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from cdma.workload.data import SUMS
from cdma.workload.dumps import entries, load
from cdma.workload.timeline.ratios import TABLE, measured, together

_ABOUT = ("Ratios of tensors without a ReLU's zeros, by what made their values and by type, measured on arrays "
          "of a shipped dump. tools/measure_ratios.py writes this file and says which arrays have which role.")
_DIGITS = 4

ROLES = {
    "sum": r"tokens|blocks\.\d\.(out|mlp)",
    "norm": r"(.*\.)?norm\d?#3",
    "attention": r".*\.qkv(#[235])?",
    "linear": r"blocks\.0\.mlp\.up|.*\.(gate|up)",
    "gelu": r".*\.gelu",
    "swiglu": r".*\.(silu|up#2)",
}
"""The arrays of the dense dump that have each role, by their whole name: outputs of layers, as backward reads them.
``attention`` is its queries, keys, values and output; ``swiglu`` the output of its SiLU, and the product that the last
of the three layers reads. The page of the data lists all arrays."""


def ratios() -> list[dict[str, Any]]:
    """The ratios of every role, in bfloat16 and in float32."""
    names = [name for _, name in entries(SUMS)]
    arrays = {name: array for file in {file for file, _ in entries(SUMS)} for name, array in load(file).items()}
    found = []
    for role, pattern in ROLES.items():
        own = [name for name in names if re.fullmatch(pattern, name)]
        for dtype in ("bfloat16", "float32"):
            parts = [arrays[name] if dtype == "bfloat16" else widened(arrays[name]) for name in own]
            filling = together([(part.nbytes, measured(part)) for part in parts])
            found.append({"role": role, "dtype": dtype, "dump": SUMS.name, "arrays": own,
                          "raw_bytes": sum(part.nbytes for part in parts), "density": round(filling.density, _DIGITS),
                          "ratios": {name: round(ratio, _DIGITS) for name, ratio in filling.ratios.items()}})
    return found


def widened(array: np.ndarray) -> np.ndarray:
    """bfloat16 values as float32 with sixteen random bits in place of those that were rounded away; zeros stay."""
    bits = array.view(np.uint16).astype(np.uint32)
    behind = np.random.default_rng(1).integers(0, 1 << 16, bits.shape, np.uint32)
    return np.where(bits == 0, 0, bits << 16 | behind).astype(np.uint32).view(np.float32)


if __name__ == "__main__":
    TABLE.write_text(json.dumps({"about": _ABOUT, "roles": ratios()}, indent=1) + "\n", encoding="utf-8")
