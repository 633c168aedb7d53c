"""Writes workload/data/sums_gpt.safetensors: the dense worked example of capture, trained anew, three sequences.

Only arrays in bfloat16 are kept, which are what autocast makes products read and write. It needs the extra [torch].
Other releases of PyTorch may round differently and give a slightly different training.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from safetensors.numpy import save_file

from cdma.workload.capturing.example import example, points
from cdma.workload.capturing.sums import BATCH
from cdma.workload.data import SUMS
from cdma.workload.dumps import load, type_name

SEQUENCES = 3  # about 1 MB


def main() -> None:
    """Train, and keep the first sequences of the last captured step."""
    last = f"step{points('gpt')[100]:06d}"
    with tempfile.TemporaryDirectory() as folder:
        done = example(folder, "gpt")
        # Arrays that products read may have the tokens of all sequences as rows of one matrix.
        arrays = {name.removeprefix(f"{last}/"): array[:SEQUENCES * len(array) // BATCH].copy()
                  for name, array in load(Path(folder) / f"{last}.safetensors").items()
                  if type_name(array.dtype) == "bfloat16"}
    save_file(arrays, SUMS)
    print(f"{SUMS.name}: {len(arrays)} arrays, {SUMS.stat().st_size:,} bytes; "
          f"the network predicts {100 * done.accuracy:.1f} % of the bytes of new sums")


if __name__ == "__main__":
    main()
