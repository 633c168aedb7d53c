"""An engine in a simulator that software of this process uses: its registers, and the memories on both its sides.

The simulator runs in a process of its own from the beginning of a context to its end. It waits for each access, so time
passes only while an access is done, or is waited for.
"""

from __future__ import annotations

import tempfile
import threading
from contextlib import suppress
from multiprocessing.connection import Client, Listener
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cdma.hdl.config.engine import EngineConfig
from cdma.verif.common import runner
from cdma.verif.common.stream import Bytes
from cdma.verif.engine.build import build_engine
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.top import IMAGE_BYTES

__all__ = ["RemoteEngine"]

_LOOK_CYCLES = 128
_GONE = (EOFError, OSError)


class RemoteEngine:
    """A simulated engine between two memories: 0 is that of the device, 1 that of the link.

    Parameters
    ----------
    config
        What the engine is generated from.
    image_bytes
        Bytes of each memory, a power of two.
    how
        How the memories answer; at once when not given.
    build_dir
        Folder for compiled designs; what is there is used again.
    seed
        Of addresses, of the memories' content, and of registers before reset.

    Members
    -------
    bases
        First address of each memory, within the context.

    Raises
    ------
    RuntimeError
        By entering the context: a tool is missing, or the design does not compile. By an access: the simulation ended.
        By leaving it: a burst is open, or a rule of a bus was broken.
    """

    def __init__(self, config: EngineConfig, *, image_bytes: int = IMAGE_BYTES, how: Behaviour | None = None,
                 build_dir: Path, seed: int = 1) -> None:
        self.config, self.image_bytes = config, max(image_bytes, IMAGE_BYTES)
        self.bases: tuple[int, int] = (0, 0)
        self._how, self._build_dir, self._seed = how or Behaviour(), build_dir, seed
        self._connection: Any = None
        self._folder: Any = None
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        built = build_engine(self.config, image_bytes=self.image_bytes, build_dir=self._build_dir)
        self._folder = tempfile.TemporaryDirectory(prefix="cdma-")
        folder = Path(self._folder.name)
        address = str(folder / "socket")
        job = {"config": self.config, "image_bytes": self.image_bytes, "behaviour": self._how, "address": address}

        def run() -> None:
            try:
                runner.run(built, "cdma.verif.engine.benches.remote", job=job, folder=folder, seed=self._seed)
            except BaseException as error:
                self._failure = error
            with suppress(*_GONE):      # ends the wait for a bench that never came
                Client(address, "AF_UNIX").close()

        with Listener(address, "AF_UNIX") as listening:
            self._thread = threading.Thread(target=run, daemon=True)
            self._thread.start()
            self._connection = listening.accept()
        self.bases = self._receive()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with connection, suppress(*_GONE):
                connection.send(None)
        if self._thread is not None:
            self._thread.join()
        self._folder.cleanup()
        if error is None and self._failure is not None:
            raise self._failure

    def read32(self, offset: int) -> int:
        """Read a register."""
        return self._ask("read", offset)

    def write32(self, offset: int, value: int) -> None:
        """Write a register."""
        self._ask("write", offset, value)

    def relax(self) -> None:
        """Let some cycles pass."""
        self._ask("wait", _LOOK_CYCLES)

    def base(self, side: int) -> int:
        """The first address of a memory."""
        return self.bases[side]

    def size(self, side: int) -> int:
        """Bytes of a memory."""
        return self.image_bytes

    def load(self, side: int, address: int, data: Bytes) -> None:
        """Write bytes into a memory, whole beats of its ports."""
        self._ask("load", side, address, data)

    def dump(self, side: int, address: int, size: int) -> Bytes:
        """Read bytes of a memory, whole beats of its ports."""
        return self._ask("dump", side, address, size)

    def _ask(self, *request: Any) -> Any:
        if self._connection is None:
            raise runner.BenchError(f"the simulation of {self.config.name} has ended: use it within its context")
        try:
            self._connection.send(request)
        except _GONE:
            self._ended()
        return self._receive()

    def _receive(self) -> Any:
        try:
            return self._connection.recv()
        except _GONE:
            self._ended()

    def _ended(self) -> None:
        """Raise why the simulation ended."""
        if self._thread is not None:
            self._thread.join()
        raise self._failure or runner.BenchError(f"the simulation of {self.config.name} ended by itself")
