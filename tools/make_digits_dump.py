"""Writes workload/data/digits_cnn.npz: the worked example of capture, trained anew, eight images of each point.

It needs the extra [torch]. Other releases of PyTorch may round differently and give a slightly different training.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from cdma.workload.capturing.example import example, points
from cdma.workload.data import DIGITS

_IMAGES = 8
_LAYERS = ("conv*", "pool*", "fc*")


def main() -> None:
    """Train, and keep of every layer the first images."""
    names = {f"step{step:06d}": f"p{percent:03d}" for percent, step in points().items()}
    arrays = {}
    with tempfile.TemporaryDirectory() as folder:
        done = example(folder, modules=_LAYERS)
        for step, point in names.items():
            with np.load(Path(folder) / f"{step}.npz") as dump:
                arrays.update({name.replace(step, point): dump[name][:_IMAGES] for name in dump.files})
    np.savez_compressed(DIGITS, **arrays)
    print(f"{DIGITS.name}: {len(arrays)} arrays, {DIGITS.stat().st_size:,} bytes; "
          f"the network reads {100 * done.accuracy:.1f} % of the test images")


if __name__ == "__main__":
    main()
