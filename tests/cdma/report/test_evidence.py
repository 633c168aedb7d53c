"""The generated parts of docs/verification.md say where figures are from, or that there are none."""

from cdma.report.evidence.sections import section_parts, stamp_text
from verif.evidence.store import Evidence, Stamp


def test_the_stamp_names_command_date_commit_and_digest() -> None:
    stamp = Stamp("make soak RECORD=1", "0123456789", "2026-11-24", "89abcdef01234567")
    assert stamp_text(stamp) == ("Recorded with `make soak RECORD=1` on 2026-11-24, commit 0123456789, digest of "
                                 "the RTL `89abcdef01234567`.")
    changed = Stamp("make soak", "0123456789+", "2026-11-24", "89abcdef01234567")
    assert "commit 0123456789 with changes, digest" in stamp_text(changed)
    assert "commit" not in stamp_text(Stamp("make soak", "", "2026-11-24", "89abcdef01234567"))


def test_a_section_without_results_says_so() -> None:
    assert section_parts(Evidence(), "formal") == ["Nothing is recorded yet."]
