"""Writes the worked examples of capture that ship in workload/data, trained anew: ``digits_cnn.npz``, eight images of
each point, and ``sums_gpt.safetensors``, three sequences of the last one, about 1 MB.

Of the second one only arrays in bfloat16 are kept, which are what autocast makes products read and write. It needs the
extra [torch]. Other releases of PyTorch may round differently and give a slightly different training.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from cdma.workload.capturing.example import example, points
from cdma.workload.capturing.sums import BATCH
from cdma.workload.data import DIGITS, SUMS
from cdma.workload.dumps import load, type_name

_IMAGES, _SEQUENCES = 8, 3


def digits(folder: Path) -> float:
    """Train, and keep of every layer the first images; the accuracy."""
    done = example(folder, modules=("conv*", "pool*", "fc*"))
    arrays = {}
    for percent, step in points().items():
        with np.load(folder / f"step{step:06d}.npz") as dump:
            arrays.update({name.replace(f"step{step:06d}", f"p{percent:03d}"): dump[name][:_IMAGES]
                           for name in dump.files})
    np.savez_compressed(DIGITS, **arrays)
    return done.accuracy


def sums(folder: Path) -> float:
    """Train, and keep the first sequences of the last captured step; the accuracy."""
    done, last = example(folder, "gpt"), f"step{points('gpt')[100]:06d}"
    # Arrays that products read may have the tokens of all sequences as rows of one matrix.
    arrays = {name.removeprefix(f"{last}/"): array[:_SEQUENCES * len(array) // BATCH].copy()
              for name, array in load(folder / f"{last}.safetensors").items() if type_name(array.dtype) == "bfloat16"}
    save_file(arrays, SUMS)
    return done.accuracy


if __name__ == "__main__":
    for train, file in ((digits, DIGITS), (sums, SUMS)):
        with tempfile.TemporaryDirectory() as place:
            print(f"{file.name}: the network is right in {100 * train(Path(place)):.1f} % of what is new to it")
