"""Which tests are run: shards, with CDMA_SHARD=I/N, and what a usual run leaves out, with CDMA_REGRESSION."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.extended import usually

ROOT = Path(__file__).resolve().parents[1]
_SOME = ("tests/verif/coverage", "tests/verif/soak")
_FPGA = "tests/synth/area/test_fpga.py"
_LEFT_OUT = [f"{_FPGA}::{name}" for name in (
    "test_memories_that_block_ram_cannot_be_are_named[xilinx7]", "test_every_buffer_of_an_engine_is_block_ram[ecp5]",
    "test_every_buffer_of_an_engine_is_block_ram[xilinx7]")]


def _collected(*tests: str, **variables: str) -> tuple[int, list[str], str]:
    environment = {**os.environ, "CDMA_SHARD": "1/1", "CDMA_REGRESSION": "", **variables}
    done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *tests],
                          cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, [line for line in done.stdout.splitlines() if "::" in line], done.stderr


def test_each_test_is_in_one_shard() -> None:
    every = _collected(*_SOME)[1]
    shards = [_collected(*_SOME, CDMA_SHARD=f"{number}/3")[1] for number in (1, 2, 3)]
    assert sorted(test for shard in shards for test in shard) == sorted(every)
    assert {len(shard) - len(every) // 3 for shard in shards} <= {0, 1}


@pytest.mark.parametrize("shard", ["3/2", "a"])
def test_other_shards_are_refused(shard: str) -> None:
    code, _, said = _collected(*_SOME, CDMA_SHARD=shard)
    assert code == 4
    assert f"CDMA_SHARD must be I/N with I from 1 to N, not '{shard}'" in said


def test_a_usual_run_leaves_out_what_is_extended() -> None:
    usual = _collected(_FPGA)[1]
    assert usual and not set(_LEFT_OUT) & set(usual)
    for regression in ("extended", "full"):
        assert sorted(_collected(_FPGA, CDMA_REGRESSION=regression)[1]) == sorted([*usual, *_LEFT_OUT])
    assert sorted(_collected(_FPGA, "-m", "extended", CDMA_REGRESSION="extended")[1]) == sorted(_LEFT_OUT)


def test_a_test_that_is_named_is_run() -> None:
    assert _collected(_LEFT_OUT[0])[:2] == (0, _LEFT_OUT[:1])


def test_other_regressions_are_refused() -> None:
    code, _, said = _collected(_FPGA, CDMA_REGRESSION="Full")
    assert code == 4
    assert "CDMA_REGRESSION must be extended or full, not 'Full'" in said


def test_only_parameters_that_are_there_can_be_usual() -> None:
    with pytest.raises(ValueError, match=r"'c' is none of the parameters \['a', 'b'\]"):
        usually("c", of="ab")
