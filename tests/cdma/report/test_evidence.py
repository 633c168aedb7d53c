"""The generated parts of docs/verification.md say where figures are from, or that there are none."""

from cdma.report.evidence.sections import section_parts, stamp_text
from cdma.verif.evidence.store import Evidence, Stamp


def test_the_stamp_names_command_date_commit_and_digest() -> None:
    stamp = Stamp("make soak RECORD=1", "0123456789", "2026-11-24", "89abcdef01234567")
    assert stamp_text(stamp) == ("Recorded with `make soak RECORD=1` on 2026-11-24, commit 0123456789, digest of "
                                 "the RTL `89abcdef01234567`.")
    changed = Stamp("make soak", "0123456789+", "2026-11-24", "89abcdef01234567")
    assert "commit 0123456789 with changes, digest" in stamp_text(changed)
    assert "commit" not in stamp_text(Stamp("make soak", "", "2026-11-24", "89abcdef01234567"))


def test_a_section_without_results_says_so() -> None:
    assert section_parts(Evidence(), "formal") == ["Nothing is recorded yet."]


def test_each_part_of_a_section_says_where_it_is_from() -> None:
    part = {"command": "make coverage-python RECORD=1", "commit": "0123456789", "date": "2026-11-25", "digest": "89"}
    other = {"command": "make coverage RECORD=1", "commit": "abcdef0123", "date": "2026-11-24", "digest": "89"}
    packages = [{"package": "golden", "lines": 10, "hit": 9, "holes": [["golden/codec/lines.py", 1]]}]
    results = {"packages": packages, "stamps": {"python": part, "verilog": other}}
    told = section_parts(Evidence({"coverage": {"stamp": other, "results": results}}), "coverage")[-1]
    assert told == (
        "Plan and Verilog: recorded with `make coverage RECORD=1` on 2026-11-24, commit abcdef0123, digest of the RTL "
        "`89`. Python: recorded with `make coverage-python RECORD=1` on 2026-11-25, commit 0123456789, digest of the "
        "RTL `89`.")
    del results["stamps"]
    alone = section_parts(Evidence({"coverage": {"stamp": other, "results": results}}), "coverage")[-1]
    assert alone == stamp_text(Stamp(**other))
