"""Measure the codec and the offload on a GPU within four minutes; needs NumPy, PyTorch, Triton and a C compiler alone.

    python tools/measure_gpu.py gpu.json            on a GPU, 1 GiB of the shipped dump
    python tools/measure_gpu.py gpu.json --cpu      a rehearsal, whose speeds mean nothing

The JSON is written after every row, in the order of worth; the script stops itself after 230 s. What a GPU showed is
kept as workload/results/gpu.json, which the pages are made from.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

SECONDS = 230


def main(file: str, rehearsal: bool) -> int:
    """Write the results; returns the exit code."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from cdma.gpu.bench import Setup, checked_device, measure

    device = checked_device("cpu" if rehearsal else "cuda")

    def told(found: dict[str, Any]) -> None:
        beside = Path(f"{file}.new")
        beside.write_text(json.dumps(found, indent=1) + "\n")
        os.replace(beside, file)

    # A call that hangs ends too: what there is by then is in the file.
    signal.signal(signal.SIGALRM, lambda number, frame: os._exit(3))
    signal.alarm(SECONDS)
    setup = Setup(device, 1 << 20, ("golden",), 2) if rehearsal else Setup(device)
    measure(setup, SECONDS - 20, told)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--cpu" in sys.argv[2:]))
