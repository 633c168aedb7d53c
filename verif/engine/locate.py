"""Says which transfer, block and line a byte of memory belongs to, and which signals of the engine carry it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cdma.golden.codec.headers import HEADER_BYTES
from cdma.golden.codec.layout import LINE_BYTES
from cdma.golden.engine import Descriptor, Operation
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.common.stream import Bytes

__all__ = ["Written", "where"]


@dataclass(frozen=True)
class Written:
    """The destination of a transfer that was judged.

    Parameters
    ----------
    number
        Of the transfer, counted from 1 since the reset of the scoreboard.
    operation, descriptor
        What it did.
    spans
        Address and size of the places it writes, in the order of its bytes.
    stream
        The block stream that golden has it write (offload); empty otherwise.
    """

    number: int
    operation: Operation
    descriptor: Descriptor
    spans: Sequence[tuple[int, int]]
    stream: Bytes

    def offset(self, address: int) -> int | None:
        """The byte of tensor or stream that belongs to an address; None if the transfer does not write there."""
        done = 0
        for start, size in self.spans:
            if start <= address < start + size:
                return done + address - start
            done += size
        return None


def where(transfers: Sequence[Written], address: int, config: EngineConfig) -> str:
    """What a byte of memory is: the transfer that wrote it last, block, line and byte, and the signals to look at."""
    for transfer in reversed(transfers):
        offset = transfer.offset(address)
        if offset is not None:
            place = _of_tensor if transfer.operation is Operation.PREFETCH else _of_stream
            tag = f"transfer {transfer.number} ({transfer.operation.name.lower()}, tag {transfer.descriptor.tag:#x})"
            return f"{tag}, {place(transfer, offset, address, config)}"
    return "no transfer writes there: a write outside of every destination"


def _of_tensor(transfer: Written, offset: int, address: int, config: EngineConfig) -> str:
    block, inside = divmod(offset, config.block_bytes)
    lane = address // config.block_bytes % config.lanes
    beat = address % config.beat_bytes
    return (f"block {block}, line {inside // LINE_BYTES}, byte {inside % LINE_BYTES} of the line; look at "
            f"m_axi_lane{lane}_wdata[{8 * beat + 7}:{8 * beat}] and at the block decompressor of lane {lane}")


def _of_stream(transfer: Written, offset: int, address: int, config: EngineConfig) -> str:
    block, start, payload = _block(transfer.stream, offset)
    inside = offset - start
    lane = (transfer.descriptor.source // config.block_bytes + block) % config.lanes
    part = f"byte {inside} of the header" if inside < HEADER_BYTES else (
        f"byte {inside - HEADER_BYTES} of {payload} of the payload")
    beat = address % config.link_beat_bytes
    return (f"byte {offset} of the stream, block {block}, {part}; look at m_axi_link_wdata[{8 * beat + 7}:{8 * beat}] "
            f"and at the block compressor of lane {lane}")


def _block(stream: Bytes, offset: int) -> tuple[int, int, int]:
    """Number, first byte and payload bytes of the block with a byte of a stream; behind the end, the last block."""
    number = start = 0
    while True:
        payload = int(stream[start]) | int(stream[start + 1]) << 8 if start + 2 <= stream.size else 0
        behind = start + HEADER_BYTES + -(-payload // HEADER_BYTES) * HEADER_BYTES
        if offset < behind or behind >= stream.size:
            return number, start, payload
        number, start = number + 1, behind
