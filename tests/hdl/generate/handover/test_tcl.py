"""The reader of Tcl that tests of scripts use."""

import pytest

from tests.hdl.generate.handover.tcl import TclError, Word, commands, elements


def test_words() -> None:
    assert commands('set a {b {c} \\} d}; puts "x [get $a "y"] z" # no comment\n'
                    "# one; \\\n still\nlast \\\n word") == [
        [Word("set"), Word("a"), Word("b {c} \\} d", braced=True)],
        [Word("puts"), Word('x [get $a "y"] z', inside=([Word("get"), Word("$a"), Word("y")],)),
         Word("#"), Word("no"), Word("comment")],
        [Word("last"), Word("word")]]
    assert commands("a {*}$b [c [d]]e\n") == [
        [Word("a"), Word("$b"), Word("[c [d]]e", inside=([Word("c"), Word("[d]", inside=([Word("d")],))],))]]


def test_lists() -> None:
    assert elements('a 0x1 {} "say \\"\\[b\\]\\" {c\\}" {\n d e\n}') == ["a", "0x1", "", 'say "[b]" {c}', "  d e "]


@pytest.mark.parametrize("script", ["set a {b", 'set a "b', "set a [b", "set a {b}c", 'set a "b"c', "set a [b {c}d]",
                                    "if {1} {\n puts {a\n}\n"])
def test_mistakes(script: str) -> None:
    with pytest.raises(TclError):
        commands(script)
