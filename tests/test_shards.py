"""Shards of the test suite: CDMA_SHARD=I/N."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def _collected(shard: str | None) -> tuple[int, list[str], str]:
    environment = {**os.environ, "CDMA_SHARD": shard or "1/1"}
    done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider",
                           "tests/verif/evidence", "tests/verif/regression/test_record.py"], cwd=ROOT, env=environment,
                          capture_output=True, text=True, check=False)
    return done.returncode, [line for line in done.stdout.splitlines() if "::" in line], done.stderr


def test_each_test_is_in_one_shard() -> None:
    every = _collected(None)[1]
    shards = [_collected(f"{number}/3")[1] for number in (1, 2, 3)]
    assert sorted(test for shard in shards for test in shard) == sorted(every)
    assert {len(shard) - len(every) // 3 for shard in shards} <= {0, 1}


@pytest.mark.parametrize("shard", ["3/2", "a"])
def test_other_shards_are_refused(shard: str) -> None:
    code, _, said = _collected(shard)
    assert code == 4
    assert f"CDMA_SHARD must be I/N with I from 1 to N, not '{shard}'" in said
