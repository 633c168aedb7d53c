"""The files for CI systems are YAML, and every command in them is one that ``cdma`` takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cdma.__main__ import parser
from cdma.hdl.config.catalog import kinds
from cdma.verif.regression.plan import steps
from tests.docs.pages import ROOT, table

_FILES = sorted((ROOT / "docs/ci").glob("*.yml"))


def _commands(value: Any) -> Iterator[str]:
    """Every line of a script in a tree of YAML."""
    if isinstance(value, dict):
        for key, inside in value.items():
            lines = inside if isinstance(inside, list) else [inside]
            if key in ("run", "script", "before_script"):
                yield from (line for text in lines for line in text.splitlines())
            else:
                yield from _commands(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from _commands(inside)


@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.stem)
def test_commands_of_ci_files_are_taken(file: Path) -> None:
    lines = list(_commands(yaml.safe_load(file.read_text(encoding="utf-8"))))
    calls = [line for line in lines if line.startswith("cdma ")]
    assert any("--shard" in call for call in calls)
    assert any("--merge" in call for call in calls)
    for call in calls:
        # What the CI system puts in is a number.
        known = re.sub(r"\$\{\{[^}]*\}\}|\$CI_NODE_INDEX", "1", call).replace("$CI_NODE_TOTAL", "4")
        parser().parse_args(shlex.split(known)[1:])


def test_both_systems_have_a_file() -> None:
    assert [file.stem for file in _FILES] == ["github-actions", "gitlab-ci"]


def test_the_page_names_every_step() -> None:
    named = {name for row in table(ROOT / "docs/ci.md", "step") for name in re.findall(r"\w+", row[0])}
    options = {"page_lists": True, "address_windows": True, "write_back": True, "buffer_parity": True,
               "link_read_ids": 4, "link_clock": "separate"}
    configs = [config for _, presets in kinds().values() for config in presets.values()]
    engine = next(iter(kinds()["engine"][1].values())).replace(**options)
    there = {step.name for config in (*configs, engine) for step in steps(config)} | {"area", "proofs"}
    assert named == there
