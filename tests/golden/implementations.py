"""What codes block streams, with the same methods: the golden model in NumPy, and the C library as users compile it,
with exact buffers. Outcomes are those of the reference."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Iterator
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint32, c_void_p
from pathlib import Path

from cdma.golden import c as golden_c
from cdma.golden.c.library import use
from cdma.golden.codec import blocks
from cdma.golden.codec.errors import StreamError
from cdma.golden.reference.blocks import Reader
from cdma.golden.reference.lines import MalformedError
from tests.golden.samples import outcome

__all__ = ["FOLDER", "STRICT", "Codec", "Fault", "Head", "Numpy", "block_of", "build", "expected", "statuses"]

FOLDER = Path(golden_c.__file__).parent
"""Where the library's source is."""

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]

Fault = tuple[str, int, int | None, int | None]

_ANY = -1
_GUARD = 64


class _Stream(ctypes.Structure):
    _fields_ = (("bytes", c_void_p), ("packed_bytes", c_size_t), ("block_bytes", c_size_t), ("raw_bytes", c_size_t),
                ("coding", c_int))


class _Fault(ctypes.Structure):
    _fields_ = (("offset", c_int64), ("block", c_int64), ("line", c_int32))


class Head(ctypes.Structure):
    """``struct cdma_head``."""

    _fields_ = (("stream", _Stream), ("crc32c", c_uint32), ("element_bytes", c_uint), ("type", c_char * 32))


class _Block(ctypes.Structure):
    _fields_ = (("number", c_size_t), ("offset", c_size_t), ("payload_bytes", c_size_t), ("coding", c_uint),
                ("next", c_size_t))


def build(folder: Path, *options: str) -> Path:
    """The library as a shared object."""
    library = folder / "codec.so"
    subprocess.run(["gcc", "-std=c99", "-O2", *STRICT, *options, "-shared", "-fPIC", "-o", str(library),
                    str(FOLDER / "cdma_codec.c")], check=True)
    return library


def statuses() -> dict[int, str]:
    """Names of the header's statuses by their values."""
    found = re.findall(r"^    CDMA_CODEC_(\w+) = (\d+),?$", (FOLDER / "cdma_codec.h").read_text(), re.MULTILINE)
    return {int(value): name for name, value in found}


def expected(stream: bytes, block: int, raw_bytes: int | None = None, coding: int | None = None) -> bytes | Fault:
    """What the plain reference reads of a stream."""
    try:
        return Reader(stream, block, raw_bytes, coding).read()
    except MalformedError as error:
        return error.fault


def block_of(coding: int, payload: bytes) -> bytes:
    """A stream of one block."""
    return len(payload).to_bytes(2, "little") + bytes([coding, 0]) + payload + bytes(-len(payload) % 4)


class Numpy:
    """The golden model without the C library."""

    def compress(self, raw: bytes, coding: int, block: int, fallback: bool = True) -> bytes:
        """The stream; coding 0 leaves all blocks raw."""
        with use("numpy"):
            return blocks.compress(raw, coding or 1, block, fallback, leave_raw=not coding).tobytes()

    def decompress(self, stream: bytes, block: int, raw_bytes: int | None = None, coding: int | None = None
                   ) -> bytes | Fault:
        """The raw bytes, or what is wrong and where."""
        with use("numpy"):
            return outcome(blocks.decompress, stream, block, raw_bytes, None, coding or None)

    def blocks(self, stream: bytes, block: int) -> Iterator[tuple[int, int, int, int, int] | Fault]:
        """Number, offset, payload bytes, coding and next offset of all blocks; last, what is wrong behind them."""
        try:
            for one in blocks.headers(stream, block):
                yield one.number, one.offset, one.payload_bytes, one.field, one.end
        except StreamError as error:
            yield error.reason.name, error.offset, error.line, error.block


class Codec:
    """The C library's functions."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self.names = statuses()
        size = POINTER(c_size_t)
        stream, block, fault = POINTER(_Stream), POINTER(_Block), POINTER(_Fault)
        for name, result, *arguments in (
            ("cdma_codec_text", c_char_p, c_int),
            ("cdma_compress_bound", c_size_t, c_size_t, c_size_t, c_uint),
            ("cdma_compress", c_int, c_int, c_size_t, c_uint, c_void_p, c_size_t, c_void_p, c_size_t, size),
            ("cdma_decompress", c_int, stream, c_void_p, c_size_t, size, fault),
            ("cdma_first_block", c_int, stream, block, fault),
            ("cdma_next_block", c_int, stream, block, fault),
            ("cdma_find_block", c_int, stream, c_size_t, block, fault),
            ("cdma_decompress_block", c_int, stream, block, c_void_p, c_size_t, size, fault),
            ("cdma_crc32c", c_uint32, c_char_p, c_size_t, c_uint32),
            ("cdma_check_crc", c_int, stream, c_uint32, fault),
            ("cdma_write_head", c_int, POINTER(Head), c_void_p),
            ("cdma_read_head", c_int, c_void_p, c_size_t, POINTER(Head)),
        ):
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments

    def text(self, status: int) -> str:
        return self._library.cdma_codec_text(status).decode()

    def bound(self, raw_bytes: int, block: int, fallback: bool = True) -> int:
        return self._library.cdma_compress_bound(raw_bytes, block, not fallback)

    def crc(self, content: bytes, value: int = 0) -> int:
        return self._library.cdma_crc32c(content, len(content), value)

    def check_crc(self, stream: bytes, crc: int) -> str | Fault:
        fault = _Fault()
        return self._fault(self._library.cdma_check_crc(byref(_stream(stream, 512)), crc, byref(fault)), fault)

    def compress(self, raw: bytes, coding: int, block: int, fallback: bool = True, capacity: int | None = None,
                 flags: int = 0) -> bytes | str:
        """The stream, or the name of a status. The capacity is that of the bound unless said otherwise."""
        room = self.bound(len(raw), block, fallback) if capacity is None else capacity
        out, packed = _Output(room), c_size_t()
        status = self._library.cdma_compress(coding, block, flags or int(not fallback), _unaligned(raw), len(raw),
                                             out.address, room, byref(packed))
        content = out.content(packed.value)
        return self.names[status] if status else content

    def decompress(self, stream: bytes, block: int, raw_bytes: int | None = None, coding: int | None = None,
                   capacity: int | None = None) -> bytes | Fault:
        """The raw bytes, or what is wrong and where."""
        room = (_most(stream, block) if raw_bytes is None else raw_bytes) if capacity is None else capacity
        out, raw, fault = _Output(room), c_size_t(), _Fault()
        source = _stream(stream, block, raw_bytes, coding)
        status = self._library.cdma_decompress(byref(source), out.address, room, byref(raw), byref(fault))
        content = out.content(raw.value)
        return self._fault(status, fault) if status else content

    def salvaged(self, stream: bytes, block: int) -> bytes:
        """What is expanded before the first fault."""
        out, raw = _Output(_most(stream, block)), c_size_t()
        self._library.cdma_decompress(byref(_stream(stream, block)), out.address, out.room, byref(raw), None)
        return out.content(raw.value)

    def blocks(self, stream: bytes, block: int, raw_bytes: int | None = None
               ) -> Iterator[tuple[int, int, int, int, int] | Fault]:
        """Number, offset, payload bytes, coding and next offset of all blocks; last, what is wrong behind them."""
        source, found, fault = _stream(stream, block, raw_bytes), _Block(), _Fault()
        status = self._library.cdma_first_block(byref(source), byref(found), byref(fault))
        while not status:
            yield found.number, found.offset, found.payload_bytes, found.coding, found.next
            status = self._library.cdma_next_block(byref(source), byref(found), byref(fault))
        if self.names[status] != "NO_BLOCK":
            yield self._fault(status, fault)

    def read_block(self, stream: bytes, block: int, number: int, capacity: int | None = None) -> bytes | Fault:
        """The raw bytes of one block."""
        source, found, fault = _stream(stream, block), _Block(), _Fault()
        status = self._library.cdma_find_block(byref(source), number, byref(found), byref(fault))
        if status:
            return self._fault(status, fault)
        return self.read_at(stream, block, found.number, found.offset, capacity)

    def read_at(self, stream: bytes, block: int, number: int, offset: int, capacity: int | None = None
                ) -> bytes | Fault:
        """The raw bytes of the block of which number and offset are known."""
        room = block if capacity is None else capacity
        source, found, fault = _stream(stream, block), _Block(number, offset), _Fault()
        out, raw = _Output(room), c_size_t()
        status = self._library.cdma_decompress_block(byref(source), byref(found), out.address, room, byref(raw),
                                                     byref(fault))
        content = out.content(raw.value)
        return self._fault(status, fault) if status else content

    def write_head(self, head: Head) -> bytes | str:
        """The bytes of a head, or the name of a status."""
        out = _Output(64)
        status = self._library.cdma_write_head(byref(head), out.address)
        content = out.content(64)
        return self.names[status] if status else content

    def read_head(self, file: bytes) -> Head | str:
        """The head of a file, or the name of a status."""
        head = Head()
        status = self._library.cdma_read_head(_unaligned(file), len(file), byref(head))
        return self.names[status] if status else head

    def with_null_pointers(self) -> Iterator[str]:
        """The statuses of calls with a pointer that must not be null."""
        stream, room, size, block = _stream(b"", 512), _Output(4), byref(c_size_t()), byref(_Block())
        library = self._library
        for status in (
            library.cdma_compress(1, 512, 0, None, 4, room.address, 4, size),
            library.cdma_compress(1, 512, 0, room.address, 4, None, 4, size),
            library.cdma_compress(1, 512, 0, room.address, 0, room.address, 4, None),
            library.cdma_decompress(None, room.address, 4, size, None),
            library.cdma_decompress(byref(_Stream(None, 4, 512, 4, -1)), room.address, 4, size, None),
            library.cdma_decompress(byref(_stream(bytes(4), 512)), None, 4, size, None),
            library.cdma_decompress(byref(stream), room.address, 4, None, None),
            library.cdma_first_block(None, block, None),
            library.cdma_first_block(byref(stream), None, None),
            library.cdma_next_block(byref(stream), None, None),
            library.cdma_find_block(None, 0, block, None),
            library.cdma_decompress_block(byref(stream), None, room.address, 4, size, None),
            library.cdma_decompress_block(byref(stream), block, None, 4, size, None),
            library.cdma_decompress_block(byref(stream), block, room.address, 4, None, None),
            library.cdma_check_crc(None, 0, None),
            library.cdma_write_head(None, room.address),
            library.cdma_write_head(byref(Head()), None),
            library.cdma_read_head(None, 64, byref(Head())),
            library.cdma_read_head(room.address, 4, None),
        ):
            yield self.names[status]

    def _fault(self, status: int, fault: _Fault) -> Fault:
        line, block = (None if value < 0 else value for value in (fault.line, fault.block))
        return self.names[status], fault.offset, line, block


class _Output:
    """A buffer at an odd address, with bytes around it that must not change."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._content = bytearray(b"\xa5" * (room + 2 * _GUARD + 1))
        self._held = (c_char * len(self._content)).from_buffer(self._content)
        self._first = _GUARD + (ctypes.addressof(self._held) + _GUARD + 1) % 2
        self.address = ctypes.addressof(self._held) + self._first

    def content(self, length: int) -> bytes:
        """The first bytes of the output."""
        assert length <= self.room
        end = self._first + self.room
        assert set(self._content[:self._first] + self._content[end:]) == {0xA5}, "bytes outside the output were written"
        return bytes(self._content[self._first:self._first + length])


def _unaligned(content: bytes) -> c_void_p:
    """The address of the bytes, which is odd."""
    held = ctypes.create_string_buffer(b"\0" + content, len(content) + 2)
    address = c_void_p(ctypes.addressof(held) + 1)
    address.held = held  # type: ignore[attr-defined]
    return address


def _stream(content: bytes, block: int, raw_bytes: int | None = None, coding: int | None = None) -> _Stream:
    address = _unaligned(content)
    stream = _Stream(address, len(content), block, 2 ** (8 * ctypes.sizeof(c_size_t)) - 1 if raw_bytes is None
                     else raw_bytes, _ANY if coding is None else coding)
    stream.held = address  # type: ignore[attr-defined]
    return stream


def _most(stream: bytes, block: int) -> int:
    """Raw bytes that a stream cannot exceed: every block has a header."""
    return (len(stream) // 4 + 1) * block
