"""Links between pages lead to files and headings that exist, so do the files that pages name, and every page is reached
from the first."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_EVERY = [*PAGES, ROOT / "CONTRIBUTING.md"]
_FILE = re.compile(r"`((?:cdma|docs|golden|hdl|synth|tests|tools|verif|workload)/[\w./-]+)`")


def links(page: Path) -> list[str]:
    """Targets of the links of a page, those to other sites left out."""
    return [target for target in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]


def headings(page: Path) -> set[str]:
    """The anchors of a page."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in found}


@pytest.mark.parametrize("page", _EVERY, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        name, _, anchor = target.partition("#")
        goal = (page.parent / name).resolve() if name else page
        assert goal.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in headings(goal), f"{page.name}: {target}"


@pytest.mark.parametrize("page", _EVERY, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    gone = [name for name in _FILE.findall(page.read_text(encoding="utf-8")) if not (ROOT / name).exists()]
    assert not gone, f"{page.name} names files that do not exist: {', '.join(gone)}"


def test_every_page_is_reached_from_the_readme() -> None:
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        todo += [(page.parent / target.partition("#")[0]).resolve() for target in links(page) if target[0] != "#"]
    assert set(PAGES) <= reached
