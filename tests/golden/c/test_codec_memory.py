"""The C library accesses nothing outside its buffers, and compiles without a warning as C and as C++."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdma.golden.reference import blocks as reference
from cdma.hdl.config.engine import load_engine
from cdma.hdl.generate.handover.c_header import c_header
from cdma.hdl.generate.handover.files import DRIVER, driver
from tests.golden.implementations import FOLDER, STRICT, block_of
from tests.golden.samples import CODINGS, EXPONENTS, floats, free_payload

_INPUTS = 3000
_BLOCKS = (512, 640, 4096)


def _streams(rng: random.Random) -> Iterator[tuple[int, int, bytes]]:
    """Block size, coding and stream: of writers, and with payloads that only readers know."""
    for coding in CODINGS.values():
        size = coding & 15 or 1
        for block in _BLOCKS:
            # Every alignment of a last line, by tensors of odd lengths.
            raw = floats(rng.randrange(300), 4, rng.getrandbits(30))
            raw += rng.randbytes(rng.randrange(40))
            raw = raw[:len(raw) // size * size]
            yield block, coding, reference.compress_blocks(raw, coding or 1, block, rng.random() < 0.5, coding == 0)
            # Data that are nearly as long as a line, up to the end of the stream.
            zeros = size * rng.randrange(1, 4)
            raw = bytes([*range(1, 256)]) * 2 + bytes([7]) * (130 - zeros) + bytes(zeros)
            yield block, coding, reference.compress_blocks(raw, coding or 1, block, False, coding == 0)
    for size, coding in EXPONENTS.items():
        for block in _BLOCKS:
            # A short block that claims more lines than its payload has headers.
            facts = (block - size).to_bytes(4, "little") + rng.randbytes(rng.randrange(4, 33))
            yield block, coding, block_of(coding | 0x80, facts)
            lines = rng.choice([block // 128, rng.randrange(block // 128)])
            payload = free_payload(size, lines, rng.getrandbits(30))
            whole = lines == block // 128
            if not whole:
                payload = (128 * lines).to_bytes(4, "little") + payload
            yield block, coding, block_of(coding | (0 if whole else 0x80), payload)


def _damaged(stream: bytes, rng: random.Random) -> bytes:
    content = bytearray(stream)
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        place = rng.randrange(len(content) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            del content[place:]
        elif kind == 1:
            content[place:place] = rng.randbytes(rng.randrange(8))
        elif kind == 2:
            del content[place:place + rng.randrange(8)]
        elif place < len(content):
            # The first bytes, headers and facts, are hit more often.
            place = rng.choice([place, place % 16])
            content[place] = rng.choice([0, 0xFF, rng.randrange(256), content[place] ^ 1 << rng.randrange(8)])
    return bytes(content)


def _inputs(seed: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    streams = list(_streams(rng))
    for _ in range(_INPUTS):
        block, coding, stream = rng.choice(streams)
        stream = _damaged(stream, rng)
        known = rng.choice([-1, -1, rng.randrange(2 * block)])
        asked = rng.choice([-1, -1, coding])
        if asked > 0 and known > 0:
            known -= known % (coding & 15)
        yield struct.pack("=4i", block, asked, known, len(stream)) + stream


def test_damaged_streams_under_sanitizers(tmp_path: Path) -> None:
    program, inputs = tmp_path / "fuzz", tmp_path / "inputs"
    subprocess.run(["gcc", "-std=c99", "-O1", "-g", *STRICT, "-fsanitize=address,undefined",
                    "-fno-sanitize-recover=all", f"-I{FOLDER}", "-o", str(program),
                    str(Path(__file__).parent / "fuzz.c"), str(FOLDER / "cdma_codec.c")], check=True)
    inputs.write_bytes(b"".join(_inputs(1)))
    done = subprocess.run([str(program), str(inputs)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{_INPUTS} inputs\n"), done.stdout + done.stderr


@pytest.mark.parametrize("standard", ["c++11", "c++17"])
def test_it_is_also_cpp(standard: str) -> None:
    subprocess.run(["g++", "-x", "c++", f"-std={standard}", *STRICT, "-fsyntax-only", str(FOLDER / "cdma_codec.c")],
                   check=True)


def test_it_goes_with_the_driver(tmp_path: Path) -> None:
    """Both headers in one source, and functions of the library called from C++."""
    config = load_engine("tiny")
    (tmp_path / "regs.h").write_text(c_header(config))
    (tmp_path / DRIVER).write_text(driver())
    (tmp_path / "both.cpp").write_text(
        '#include "regs.h"\n#include "cdma_driver.h"\n#include "cdma_codec.h"\n'
        "int main() { return cdma_crc32c(\"123456789\", 9, 0) != 0xE3069283u; }\n")
    compiled = tmp_path / "codec.o"
    subprocess.run(["gcc", "-std=c99", "-O1", "-c", "-o", str(compiled), str(FOLDER / "cdma_codec.c")], check=True)
    subprocess.run(["g++", "-std=c++11", *STRICT, f"-I{FOLDER}", f"-I{tmp_path}", "-o", str(tmp_path / "both"),
                    str(tmp_path / "both.cpp"), str(compiled)], check=True)
    subprocess.run([str(tmp_path / "both")], check=True)
