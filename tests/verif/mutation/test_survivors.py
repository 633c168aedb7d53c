"""What is known of mutants that survived: an entry for each of them, and for no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.verif.evidence.store import Evidence
from cdma.verif.mutation.results import MutationReport, recorded
from cdma.verif.mutation.survivors import read_survivors


def test_each_recorded_survivor_is_explained_and_nothing_else() -> None:
    report = MutationReport(tuple(recorded(Evidence.load().results("mutation") or {})))
    assert set(read_survivors()) == {each.name for each in report.survivors}


@pytest.mark.parametrize(("text", "wrong"), [
    ('[[survivor]]\nname = "a"\n', "survivor 1 of .* must have a name and say about what is known"),
    ('[[survivor]]\nname = "a"\nabout = " "\n', "survivor 1 of .* must have a name and say about what is known"),
    ('[[survivor]]\nname = "a"\nabout = "b"\nwhy = "c"\n', "survivor 1 of .* must have a name"),
    ('[[survivor]]\nname = "a"\nabout = "b"\n' * 2, "two entries of a: keep one"),
])
def test_entries_that_are_refused(text: str, wrong: str, tmp_path: Path) -> None:
    file = tmp_path / "survivors.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=wrong):
        read_survivors(file)
