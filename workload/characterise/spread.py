"""Runs tasks in parallel: on the cores of this machine, or on an existing Dask cluster."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

from cdma.workload.extra import package

__all__ = ["on_cluster", "on_cores"]

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_PATIENCE_S = 5  # seconds to wait for a scheduler, and for a first worker
_RETURN_S = 60  # seconds to wait for a new worker after all were lost


class _GoneError(ValueError):
    """All workers are lost."""


def on_cores(work: Callable[[_Task], _Result], tasks: Sequence[_Task], workers: int) -> Iterator[_Result]:
    """Results of worker processes, in the order of the tasks.

    Parameters
    ----------
    work
        Function of a module, which the processes import.
    tasks
        What it is called with.
    workers
        Processes.

    Raises
    ------
    ValueError
        If a process ended early.
    """
    # Workers are started anew, because a process with threads (of a progress bar) must not be forked.
    # Ctrl-C reaches the workers too, and ends them without a message.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=signal.signal,
                               initargs=(signal.SIGINT, signal.SIG_DFL))
    try:
        yield from pool.map(work, tasks)
    except BrokenProcessPool as error:
        raise ValueError("a worker process ended early, most likely for lack of memory: use fewer of them "
                         "(--jobs 1)") from error
    finally:
        pool.shutdown(cancel_futures=True)


def on_cluster(work: Callable[[_Task], _Result], tasks: Sequence[_Task], address: str,
               needs: str = "every dump under the path that it has here") -> Iterator[_Result]:
    """Results of the workers of a Dask cluster, in the order of the tasks.

    Parameters
    ----------
    work
        Function of a module, which the workers import: they need this project, in the same version.
    tasks
        What it is called with.
    address
        The scheduler's, for instance ``tcp://10.0.0.1:8786``.
    needs
        What workers need beside this project, for messages.

    Raises
    ------
    ValueError
        If Dask is not installed, there is no scheduler at the address or it has no workers, the workers end early, or
        one of them raises a ValueError, which is raised again here.
    """
    distributed = package("distributed", "cluster")
    with _quiet():
        _reach(address)
        with distributed.Client(address, timeout=_PATIENCE_S, set_as_default=False) as client:
            try:
                client.wait_for_workers(1, timeout=_PATIENCE_S)
            except TimeoutError as error:
                raise ValueError(f"the Dask scheduler at {address} has no workers: start some (dask worker "
                                 f"{address})") from error
            yield from _gathered(client, client.map(work, tasks, pure=False), address, distributed.KilledWorker, needs)


def _reach(address: str) -> None:
    """Connect once in advance: a Dask client that cannot connect takes long to close and prints its errors."""
    connect = package("distributed.comm", "cluster").connect

    async def shake() -> None:
        # Dask's own time limit does not cover the handshake, which a silent server never answers.
        await (await asyncio.wait_for(connect(address, timeout=_PATIENCE_S), _PATIENCE_S)).close()

    # In a thread, because this one may have a running event loop, for example in a notebook.
    with ThreadPoolExecutor(1) as thread:
        try:
            thread.submit(asyncio.run, shake()).result()
        except Exception as error:  # of any type, because bytes of another protocol can cause any error
            raise ValueError(f"there is no Dask scheduler at {address} that answers within {_PATIENCE_S} seconds: give "
                             "its address (tcp://HOST:PORT)") from error


def _gathered(client: Any, futures: Sequence[Any], address: str, killed: type[Exception],
              needs: str) -> Iterator[Any]:
    try:
        for future in futures:
            yield _result(client, future, address)
    except _GoneError:
        raise
    except ValueError as error:
        raise ValueError(f"a Dask worker says: {error} (workers need {needs})") from error
    except killed as error:
        raise ValueError(f"the Dask workers at {address} end early, most likely for lack of memory: give them more, or "
                         "fewer threads each") from error
    except ImportError as error:
        raise ValueError(f"a Dask worker cannot import what it needs ({error}): install this version of cdma-rtl for "
                         "the workers as well") from error
    except (OSError, CancelledError, RuntimeError) as error:
        raise ValueError(f"the Dask cluster at {address} gave up: {str(error) or type(error).__name__}") from error


def _result(client: Any, future: Any, address: str) -> Any:
    """Wait for a result while there are workers; Dask itself waits without limit, because new ones may come."""
    while True:
        try:
            return future.result(timeout=_PATIENCE_S)
        except TimeoutError:
            # The task's own error, if it has one; a result that came a moment too late is asked for again.
            if future.status == "error":
                return future.result()
        try:
            client.wait_for_workers(1, timeout=_RETURN_S)
        except TimeoutError as error:
            raise _GoneError(f"the Dask workers at {address} are gone, and none came within {_RETURN_S} "
                             "seconds") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress Dask's messages; errors are raised anyway."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
