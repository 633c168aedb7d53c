"""Compression in software on the GPU: what a GPU showed, and the engine modelled in the same steps.

``gpu.json`` beside this module is what ``tools/measure_gpu.py`` wrote on a GPU. Where there is none, nothing was
measured: no figure of a GPU follows from arithmetic.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cdma.workload.timeline.gpus import GPUS
from cdma.workload.timeline.queued import Ahead
from cdma.workload.timeline.scenario import Scenario, build_engine, suiting_preset

__all__ = ["STORED", "measured", "software"]

STORED = Path(__file__).with_name("gpu.json")

_STEPS: dict[str, dict[str, Any]] = {"gpt2": {"batch": 8}, "resnet50": {"batch": 64, "dtype": "bfloat16"}}
"""The steps of cdma.gpu.steps, as the model has them."""
_CARD = "h100"
"""The GPU that is modelled where none was measured."""


def software(path: Path = STORED) -> dict[str, Any]:
    """Training steps that offload every tensor of 1 MiB or more, with at most a block behind: through the engine on the
    link of the GPU, modelled, and in software, measured. See :func:`measured`."""
    found = measured(path)
    card = next((name for name in GPUS if found and name.upper() in found["card"]), _CARD)
    link = found["link_gbps"] if found and found["link_gbps"] else GPUS[card].link_reached
    steps = []
    for network, options in _STEPS.items():
        study = Scenario(network, card, link=link, engine=build_engine(suiting_preset(link)), schedule="queue",
                         ahead=Ahead(blocks=1), **options).study()
        plain, offload, packed = (1e3 * study.rows[row].seconds for row in ("oracle", "vdnn", "exponents"))
        steps.append({"network": network, "batch": options["batch"], "gpu_name": GPUS[card].about, "gb_per_s": link,
                      "modelled": _step(plain, offload, packed, study.rows["vdnn"].moved / 2,
                                        study.ratio("exponents"), 0.0),
                      "measured": found and found["steps"].get(network)})
    return {"measured": found, "steps": steps}


def measured(path: Path = STORED) -> dict[str, Any] | None:
    """What a result of ``tools/measure_gpu.py`` says; None where there is none. A figure that was not taken is None.

    Raises
    ------
    ValueError
        If the result is that of a rehearsal.
    """
    if not path.exists():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    if found["device"] == "cpu":
        raise ValueError(f"{path} is of a rehearsal, whose speeds mean nothing: store what a GPU showed")
    taken = {name: [row for row in found.get(name, ()) if "not_run" not in row]
             for name in ("bytes", "speeds", "copies", "offload", "sanitizer")}
    links = {row["copy"]: row["gbps"] for row in taken["copies"]}
    # By content is how tensors are compressed unless a coding is asked for; zero-value coding is in Triton.
    codecs = {name: next(({key: row[key] for key in ("encode_gbps", "decode_gbps", "ratio")} for row in taken["speeds"]
                          if (row["values"], row["backend"], row["coding"], row.get("chosen", False)) == which), None)
              for name, which in (("exponents", ("bfloat16 dump", "cuda", "bfloat16", True)),
                                  ("zvc", ("density 0.5", "triton", "zvc16", False)),
                                  ("nvcomp", ("bfloat16 dump", "nvcomp", "ANS", False)))}
    ways = {(row["network"], row["way"]): row for row in taken["offload"]}
    found = {key: found[key] for key in ("card", "driver", "torch", "triton", "date")} | {
        "link_gbps": min(links["out"], links["back"]) if {"out", "back"} <= links.keys() else None, "codecs": codecs,
        "steps": {name: _measured_step(*(ways[name, way] for way in ("plain", "async", "compressed")))
                  for name in _STEPS if (name, "compressed") in ways}}
    for name, step, keys in (("equal", "bytes", ("stream_equal", "back_equal")), ("clean", "sanitizer", ("clean",)),
                             ("identical", "offload", ("identical",))):
        found[name] = all(row[key] for row in taken[step] for key in keys) if taken[step] else None
    return found


def _measured_step(plain: dict[str, Any], offload: dict[str, Any], packed: dict[str, Any]) -> dict[str, Any]:
    return _step(plain["milliseconds"], offload["milliseconds"], packed["milliseconds"], packed["raw_bytes"],
                 packed["raw_bytes"] / packed["link_bytes"], 100 * packed["codec_share"])


def _step(plain: float, offload: float, packed: float, raw_bytes: float, ratio: float, sm: float) -> dict[str, Any]:
    """Milliseconds of a step, 10^9 raw bytes one way, and in per cent the time that the SMs code, and what compression
    saves of (exposed copies) x (1 - 1/ratio)."""
    exposed = (offload - plain) * (1 - 1 / ratio)
    return {"plain_ms": plain, "offload_ms": offload, "packed_ms": packed, "raw_gb": raw_bytes / 1e9, "ratio": ratio,
            "sm": sm, "saved": 100 * (offload - packed) / exposed if exposed > 0 else None}
