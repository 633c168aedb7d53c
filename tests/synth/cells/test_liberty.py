"""The Liberty format: packed or not, with the liberties that libraries take, and damaged."""

import gzip
from pathlib import Path

import pytest

from cdma.synth.cells.liberty import LibertyError, parse, read


def test_plain_and_packed_files_read_alike(tmp_path: Path, text: str) -> None:
    plain, packed = tmp_path / "a.lib", tmp_path / "a.lib.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    assert read(plain) == read(packed) == text


@pytest.mark.parametrize("cut", [20, -4])
def test_damaged_packed_file(tmp_path: Path, text: str, cut: int) -> None:
    packed = tmp_path / "a.lib.gz"
    packed.write_bytes(gzip.compress(text.encode())[:cut])
    with pytest.raises(LibertyError, match=r"a\.lib\.gz is damaged: gzip cannot unpack it$"):
        read(packed)


@pytest.mark.parametrize(("name", "why"), [("missing.lib", "No such file"), (".", "Is a directory")])
def test_file_that_cannot_be_read(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(LibertyError, match=f"cannot read cell library .*: {why}"):
        read(tmp_path / name)


def test_groups_and_attributes() -> None:
    library = parse("""
        /* a comment { with ( marks } */
        library (one) {
          time_unit : "1ns";
          capacitive_load_unit (1, pf);
          operating : 2 * 3 ;
          cell (A) { area : 1.5; pin (X, Y) { direction : input } }
          cell ("B") { }
          wire_load (w) { fanout_length (1, 2.0); fanout_length (2, 3.5); }
        }""", "x.lib")
    assert (library.kind, library.name) == ("library", "one")
    assert library.values == {"time_unit": "1ns", "capacitive_load_unit": "1,pf", "operating": "2 * 3"}
    a, b = library.all("cell")
    assert (a.name, a.values, b.name, b.groups) == ("A", {"area": "1.5"}, "B", [])
    assert a.groups[0].arguments == ("X", "Y")
    assert a.groups[0].values == {"direction": "input"}
    (wires,) = library.all("wire_load")
    assert wires.values["fanout_length"] == "1,2.0,2,3.5"


def test_semicolons_may_be_missing() -> None:
    library = parse('library (l) {\n a : 1\n b : "x y"\n d : 3;\n c (1, 2)\n e : 4\n }', "x.lib")
    assert library.values == {"a": "1", "b": "x y", "c": "1,2", "d": "3", "e": "4"}


@pytest.mark.parametrize(("text", "message"), [
    ("", "it has no library"),
    ("cell (A) { }", "it has no library"),
    ("library (l) {\n cell (A) {\n", r"line 3: the file ends inside of cell \(A\)"),
    ("library (l) { }\n}", "line 2: '}' without '{'"),
    ("library (l) {\n { } }", r"line 2: 'name \(...\)' is expected before '{'"),
    ("library (l) {\n (1); }", r"line 2: a name is expected before '\('"),
    ('library (l) {\n a : "open; }', "line 2: '\"' is not expected here"),
])
def test_what_is_no_liberty_file(text: str, message: str) -> None:
    with pytest.raises(LibertyError, match=f"^x.lib is not a Liberty file: {message}"):
        parse(text, "x.lib")
