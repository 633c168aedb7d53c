"""Write-back rings of the model: both sides together, and the bytes of a record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cdma.golden.engine import (
    RECORD_BYTES,
    Completion,
    Memory,
    Operation,
    RecordReader,
    RecordWriter,
    Status,
    pack_record,
    unpack_record,
)


def _completion(tag: int) -> Completion:
    return Completion(tag=tag, status=Status.OK, operation=Operation.OFFLOAD, bytes_written=3 * tag, crc=tag)


def test_bytes_of_a_record() -> None:
    done = Completion(tag=0x01020304, status=Status.LINK_READ_ERROR, operation=2, response=3, place=0x1122334455)
    record = pack_record(done, 0x1234, 1)
    assert record[:8].hex() == "0403020122000302" and record[40:48].hex() == "5544332211000000"
    assert record[60:].hex() == "01003412"
    assert unpack_record(record, 0x1234, 1) == done
    assert unpack_record(record, 0x1234, 0) is None


@pytest.mark.parametrize("entries", [2, 4, 32])
def test_both_sides(entries: int) -> None:
    """Whatever the order in which they run, every completion is read once, in order; none is overwritten."""
    rng = np.random.default_rng(entries)
    memory = Memory(0x1000, np.zeros(entries * RECORD_BYTES, np.uint8))
    writer, reader = RecordWriter(0x1000, entries), RecordReader(0x1000, entries)
    written = read = announced = full = 0
    while read < 5 * entries:
        for _ in range(rng.integers(1, entries + 2)):
            took = writer.write(memory, _completion(written))
            assert took == (written - announced < entries - 1)
            full += not took
            written += took
        for _ in range(rng.integers(1, entries + 2)):
            done = reader.read(memory)
            assert (done is None) == (read == written)
            if done is not None:
                assert done == _completion(read)
                read += 1
        if rng.random() < 0.7:
            writer.head, announced = reader.index, read
    assert full


@pytest.mark.parametrize(("fields", "message"), [
    ({"address": 32}, "multiple of 64"), ({"entries": 3}, "power of two"), ({"entries": 1}, "power of two"),
    ({"entries": 1 << 17}, "power of two")])
def test_rings_that_are_not_allowed(fields: dict[str, Any], message: str) -> None:
    for side in (RecordReader, RecordWriter):
        with pytest.raises(ValueError, match=message):
            side(**{"address": 64, "entries": 2} | fields)


def test_records_that_are_wrong() -> None:
    record = pack_record(_completion(1), 3, 1)
    with pytest.raises(ValueError, match="64 bytes"):
        unpack_record(record[:-1], 3, 1)
    with pytest.raises(ValueError, match="last word"):
        unpack_record(record, 4, 1)
