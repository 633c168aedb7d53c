"""The rows of alternatives: by hand, and what must hold of all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.workload.alternatives.study import CODINGS, Alternative, Inputs, alternatives, best, sensitivity, worth_a_look
from cdma.workload.networks.catalog import load_network
from cdma.workload.networks.tensors import tensors
from cdma.workload.timeline.compute import roofline
from cdma.workload.timeline.densities import default_fillings
from cdma.workload.timeline.engine_share import constant
from cdma.workload.timeline.gpus import GPUS
from cdma.workload.timeline.queued import Ahead
from cdma.workload.timeline.schedule import Engine
from tests.workload.timeline.samples import ENDLESS, WORK, three

ENOUGH = 44_204  # bytes that three() needs, all on the device


def inputs(**changes: object) -> Inputs:
    plan = three()
    engine = Engine(64, 32, 64, 1000, constant(1.0))
    return replace(Inputs(plan, WORK, default_fillings(plan), engine, 500.0, ENDLESS, 1.0, Ahead(blocks=0),
                          codec_rate=1000.0, everything=True), **changes)


def by_name(given: Inputs) -> dict[str, Alternative]:
    return {f"{row.name} {row.schedule}".strip(): row for row in alternatives(given)}


def test_rows_by_hand() -> None:
    rows = by_name(inputs())
    assert rows["buy memory"].step_ms == pytest.approx(37e3)
    assert rows["buy memory"].memory_gb == pytest.approx(ENOUGH / 1e9)
    # As the timelines: data and a, 12,000 bytes in each direction, 8 and 16 s at 500 bytes a second.
    assert rows["offload layer"].step_ms == rows["offload queue"].step_ms == pytest.approx(60e3)
    assert rows["offload layer"].link_gb == pytest.approx(24_000 / 1e9)
    assert rows["offload layer"].slowdown == pytest.approx(60 / 37)
    # bfloat16 halves them: 4 and 8 s. Forward 3, then b beside 4 (a on the link from 4 to 12), c from 12 to 17; back a
    # until 25 beside c until 27, b until 36, a until 42. Memory is endless, so rounding takes no time.
    assert rows["round to bfloat16 queue"].step_ms == pytest.approx(42e3)
    assert rows["round to bfloat16 queue"].link_gb == pytest.approx(12_000 / 1e9)
    assert not rows["round to bfloat16 queue"].lossless
    # A codec at 1,000 bytes a second adds 4 s for data and 8 s for a in each pass.
    assert rows["codec on the GPU queue"].extra_ms == pytest.approx(24e3)
    assert rows["codec on the GPU queue"].step_ms > 37e3 + 24e3
    # 2 bits with all beside them take a twelfth of float32; nothing moves.
    assert rows["2-bit activations"].link_gb == 0
    assert rows["2-bit activations"].memory_gb < rows["buy memory"].memory_gb
    assert rows["engine, zvc queue"].hardware == "the engine"
    assert rows["engine, zvc queue"].link_gb < rows["offload queue"].link_gb


def test_only_what_has_to_go_is_swapped() -> None:
    # Backward of b is the fullest with and without swapping, so a device of less than all cannot be helped; the network
    # of five layers can.
    rows = by_name(inputs(everything=False, memory=float(ENOUGH)))
    assert all(row.link_gb == 0 and row.fits for row in rows.values() if row.schedule)
    plan = tensors(load_network("googlenet"))
    work, some = roofline(plan, GPUS["titan-x"]), default_fillings(plan)
    given = Inputs(plan, work, some, inputs().engine, 12.8e9, 336e9, 4.5e9)
    less, more = (by_name(replace(given, everything=every)) for every in (False, True))
    for name in ("offload layer", "offload queue", "engine, zvc queue", "codec on the GPU queue"):
        assert less[name].fits
        assert less[name].link_gb < more[name].link_gb
        assert less[name].step_ms <= more[name].step_ms
    assert "checkpoints + offload queue" in more and "checkpoints + offload queue" not in less


def test_bounds_of_all_rows() -> None:
    plan = tensors(load_network("resnet50"))
    given = Inputs(plan, roofline(plan, GPUS["v100"]), default_fillings(plan), inputs().engine, 12.8e9, 900e9, 4e9)
    rows = by_name(given)
    for name, row in rows.items():
        assert row.slowdown >= 1 - 1e-12, name
        assert row.memory_gb <= rows["buy memory"].memory_gb * (1 + 1e-12), name
        assert row.fits == (row.memory_gb <= 4), name
    assert not rows["buy memory"].fits and rows["buy memory"].hardware.endswith("GB of memory")
    assert set(CODINGS) <= {"zvc", "exponents"} and "zvc" in CODINGS
    lines = {(line["change"], line["schedule"]): line
             for line in sensitivity(given, {"slow": replace(given, wait=0.01)})}
    for schedule in ("layer", "queue"):
        one, slow = lines["as given", schedule], lines["slow", schedule]
        assert slow["offload_x"] > one["offload_x"]
        assert all(slow["engine_x"][coding] > one["engine_x"][coding] for coding in CODINGS)


def row(name: str, time: float, memory: float, accuracy: str = "none", hardware: str = "nothing", fits: bool = True,
        ) -> Alternative:
    return Alternative(name, "", "", time, 1.0, memory, fits, 0.0, 0.0, accuracy, hardware)


def test_what_is_shown_and_what_is_best() -> None:
    first = row("buy memory", 1, 9, hardware="5 GB of memory", fits=False)
    rows = [first, row("slow", 4, 4), row("fast", 2, 4), row("small", 5, 3), row("lossy", 1.5, 4, "a little"),
            row("engine", 1.8, 4, hardware="the engine"), row("engine too", 2.5, 4, hardware="the engine"),
            row("too large", 1.1, 8, fits=False)]
    assert [one.name for one in worth_a_look(rows)] == ["buy memory", "fast", "small", "lossy", "engine", "too large"]
    assert best(rows).name == "engine"  # type: ignore[union-attr]
    assert best(rows, lossless=False).name == "lossy"  # type: ignore[union-attr]
    assert best([first]) is None
