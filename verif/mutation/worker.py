"""A process that has imported what all tests need, and forks a child for each job: ``python -m
cdma.verif.mutation.worker``.

It reads jobs from standard input and writes their results to standard output, a line of JSON each. No module of the
hardware is imported before a child has put a mutant over it.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from cdma.verif.mutation.overlay import Overlay

__all__ = ["main"]

_MEMORY = 6 << 30
"""Bytes of memory that a child may take: a mutant may ask for any."""

_WARM = ("amaranth.hdl", "amaranth.sim", "amaranth.lib.wiring", "amaranth.back.rtlil", "numpy", "pytest",
         "hypothesis", "coverage")


def main() -> int:
    """Serve jobs until standard input ends, or until the process that gives them ends this one, as after Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for name in _WARM:
        importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(_served(json.loads(line))), flush=True)
    return 0


def _served(job: dict[str, Any]) -> dict[str, Any]:
    folder = tempfile.mkdtemp(prefix="cdma-mutant-")
    try:
        return _forked(job, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _forked(job: dict[str, Any], folder: str) -> dict[str, Any]:
    reads, writes = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reads)
        _child(job, folder, writes)
    os.close(writes)
    late = True
    try:
        late = not _read_until(reads, began + job["seconds"], answer := bytearray())
    finally:
        if late:
            os.kill(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    # What the child has started is gone with it.
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.close(reads)
    ended = {"processor_s": round(used.ru_utime + used.ru_stime, 2), "seconds": round(time.monotonic() - began, 2)}
    if not late and os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        return {**json.loads(answer.decode()), **ended}
    over = late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU)
    tail = Path(folder, "output").read_text(encoding="utf-8", errors="replace")[-2000:]
    return {"outcome": "timeout" if over else "died", "by": "", "said": "" if over else tail, **ended}


def _read_until(reads: int, deadline: float, answer: bytearray) -> bool:
    """Read until the other end is closed; False if that is too late."""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([reads], [], [], left)[0]:
            part = os.read(reads, 1 << 16)
            if not part:
                return True
            answer += part
    return False


def _child(job: dict[str, Any], folder: str, writes: int) -> None:
    """Do a job, and end; nothing of the parent is run again."""
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with open(os.path.join(folder, "output"), "wb") as output, open(os.devnull, "rb") as nothing:
            for stream, number in ((nothing, 0), (output, 1), (output, 2)):
                os.dup2(stream.fileno(), number)
        resource.setrlimit(resource.RLIMIT_CPU, (job["processor_s"], job["processor_s"] + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        os.environ.update(TMPDIR=folder, HYPOTHESIS_STORAGE_DIRECTORY=folder, CDMA_SEED="1")
        tempfile.tempdir = None
        if (over := job.get("overlay")) is not None:
            Overlay(over["module"], Path(over["path"]), over["text"].encode()).install()
        work = getattr(importlib.import_module("cdma.verif.mutation.jobs"), job["work"])
        answer = work(Path(folder), **job["with"])
        with open(writes, "wb") as pipe:
            pipe.write(json.dumps(answer).encode())
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
