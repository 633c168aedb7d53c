"""The command as a program: help, version, exit codes, pipes, Ctrl-C, progress."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cdma.__main__ import main, parser
from cdma.commands import COMMANDS
from cdma.console import progress as progress_module

NAMES = [command.__name__.rpartition(".")[2] for command in COMMANDS]


def test_help_lists_every_command(cdma) -> None:
    outcome = cdma("--help")
    assert outcome.code == 0
    for name in NAMES:
        assert f"\n  {name} " in outcome.out


@pytest.mark.parametrize("name", NAMES)
def test_help_of_a_command_has_examples_that_parse(cdma, name: str) -> None:
    outcome = cdma(name, "--help")
    assert outcome.code == 0
    examples = outcome.out.partition("examples:\n")[2].splitlines()
    calls = [re.split(r"  |\||>|&&", line)[0].split()
             for line in (text.strip().partition("cdma ")[2] for text in examples) if line]
    assert calls
    for call in calls:
        assert parser().parse_args(call).run.__module__ == f"cdma.commands.{name}"


def test_version(cdma) -> None:
    outcome = cdma("--version")
    assert outcome.code == 0
    assert outcome.out.split()[0] == "cdma"
    assert outcome.out.split()[1][0].isdigit()


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["generate", "--nonsense"], ["info"],
                                       ["compress", "a", "b", "--element", "12"],
                                       ["compress", "a", "b", "--block-bytes", "100"],
                                       ["simulate", "--stalls", "1.5"], ["decompress", "a", "b", "--crc", "xyz"]])
def test_wrong_arguments_are_one_line_with_a_way_to_help(fails, arguments: list[str]) -> None:
    assert "--help" in fails(*arguments)


@pytest.mark.parametrize(("arguments", "line"), [
    (["area", "--foo"], "unrecognized arguments: --foo (see 'cdma area --help')"),
    (["decompress", "a", "b", "--foo=1"], "unrecognized arguments: --foo=1 (see 'cdma decompress --help')"),
    (["--foo", "area"], "unrecognized arguments: --foo (see 'cdma --help')"),
    (["area", "--engine", "tiny"],
     "--engine has gone: name the engine, as in 'cdma area tiny' (see 'cdma area --help')"),
    (["timeline", "vgg16", "--gantt=x.svg"], "--gantt has gone: write --plot (see 'cdma timeline --help')"),
    (["simulat"], "there is no command 'simulat': did you mean simulate? (see 'cdma --help')")])
def test_an_unknown_word_leads_to_the_right_one_and_to_help(fails, arguments: list[str], line: str) -> None:
    assert fails(*arguments) == f"cdma: error: {line}\n"


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDMA_DEBUG", "1")
    with pytest.raises(OSError, match="missing"):
        main(["info", "missing.zvc"])


def program(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cdma", *arguments]


def test_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(bytes(4_000_000))
    subprocess.run(program("compress", "raw", "zvc", "--element", "32"), cwd=tmp_path, check=True, capture_output=True)
    with subprocess.Popen(program("info", "zvc", "--all"), cwd=tmp_path, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as running:
        assert running.stdout and running.stderr
        running.stdout.readline()
        running.stdout.close()
        assert running.wait(60) == 0
        assert running.stderr.read() == b""


def test_ctrl_c_is_one_line(tmp_path: Path) -> None:
    # Shells start what runs in the background with SIGINT ignored, and children inherit that.
    with subprocess.Popen(program("compress", "-", "out", "--element", "32"), cwd=tmp_path, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as running:
        # The child waits for standard input once its imports are done; an early signal would hit the interpreter.
        deadline = time.monotonic() + 60
        while _state(running.pid) != "S" and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (130, "cdma: interrupted\n")
    assert not (tmp_path / "out").exists()


def test_ctrl_c_while_commands_are_imported_is_one_line(cdma, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever takes long is imported by main(), which catches it.
    seen = subprocess.run([sys.executable, "-c", "import sys, cdma.__main__; print(*sys.modules)"], check=True,
                          capture_output=True, text=True).stdout.split()
    assert not {"cdma.commands", "numpy", "amaranth"} & set(seen)

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cdma.__main__.parser", interrupted)
    outcome = cdma("--version")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "cdma: interrupted\n")


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_progress_is_quiet_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_module.Progress() as progress:
        progress("stage", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_progress_shows_on_a_terminal_after_a_while() -> None:
    code = ("import time; from cdma.console import progress as p; p._DELAY_S = 0.2\n"
            "with p.Progress() as bar:\n"
            "    bar('first stage', 1, 2); time.sleep(0.8); bar('second stage', 0, 0); time.sleep(0.5)\n")
    parent, child = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stderr=child, stdout=subprocess.PIPE,
                          env=os.environ | {"TERM": "xterm"}) as running:
        os.close(child)
        shown = b""
        while True:
            try:
                piece = os.read(parent, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        assert running.stdout and running.stdout.read() == b""
    os.close(parent)
    assert running.returncode == 0
    assert b"first stage" in shown
    assert b"second stage" in shown
