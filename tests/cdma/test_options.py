"""Options of all commands: one name has one meaning, and names of earlier versions lead to those of today."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable

import pytest

from cdma.__main__ import _RENAMED, parser

_COMMANDS = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)).choices

_SEVERAL = {
    "--array": "a name, or with * and ? those of keys and of values",
    "--efficiency": "of layers by kind, or of all",
    "--engine": "a preset or a file; a preset where cycles were measured",
    "--gpu": "one that is modelled, or that of the machine",
    "--memory": "of simulated memories in bytes, of a GPU in GB",
    "--narrow": "the formats that it is for, with none or without",
    "--output": "a folder, or a file of the kind that is written",
    "--policy": "those of networks, or of a timeline",
    "--report": "a page, or a folder with a page",
    "--shape": "N,C,H,W where layouts matter",
    "--steps": "how many training steps, or which",
    "--target": "what area is mapped to, or a clock is known of",
    "--waves": "in the build folder, or with --replay in a folder",
}
"""Options that take more than one kind of value, and why."""

_ONE_NAME = {"MHZ": "--clock", "MINUTES": "--minutes", "I/N": "--shard", "CYCLES": "--latency", "FILE.svg": "--plot",
             "NAME=VALUE": "--set", "YYYY-MM-DD": "--date", "PERCENT": "--fail-over", "SECONDS": "--limit"}
"""The only option with such a value."""


def _options() -> dict[str, set[tuple[object, ...]]]:
    """What each option takes, over all commands: how many arguments, and their name or choices."""
    found = defaultdict(set)
    for command in _COMMANDS.values():
        for action in command._actions:
            if action.option_strings:
                value = action.metavar or "|".join(map(str, action.choices or ()))
                found[action.option_strings[-1]].add((action.nargs, value))
    return found


def test_an_option_takes_the_same_in_every_command() -> None:
    several = {name: kinds for name, kinds in _options().items() if len(kinds) > 1}
    assert sorted(several) == sorted(_SEVERAL), several


def test_what_is_given_has_one_name() -> None:
    names = defaultdict(set)
    for name, kinds in _options().items():
        for _, metavar in kinds:
            names[metavar].add(name)
    assert {metavar: names[metavar] for metavar in _ONE_NAME} == {key: {name} for key, name in _ONE_NAME.items()}


@pytest.mark.parametrize("old", _RENAMED)
def test_an_old_name_leads_to_the_new_one(fails: Callable[..., str], old: str) -> None:
    command, option = old.split()
    assert option not in _COMMANDS[command]._option_string_actions
    assert fails(command, f"{option}=1", "x") == (
        f"cdma: error: {option} has gone: {_RENAMED[old]} (see 'cdma {command} --help')\n")
