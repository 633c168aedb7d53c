"""Work on a Dask cluster: a real one in this process, and every way in which one fails."""

import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from distributed import LocalCluster

from cdma.workload.characterise.arrays import characterise
from cdma.workload.characterise.spread import _result, on_cluster, on_cores


def local_cluster(workers: int) -> Any:
    """Scheduler and workers of two threads each, in this process."""
    return LocalCluster(n_workers=workers, threads_per_worker=2, processes=False, protocol="tcp",
                        dashboard_address=":0", silence_logs=50)


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Address of a scheduler with a worker."""
    with local_cluster(1) as there:
        yield there.scheduler_address


def square(number: int) -> int:
    return number * number


def fail(number: int) -> int:
    raise ValueError(f"no square of {number}")


def lack(number: int) -> int:
    raise ModuleNotFoundError("No module named 'missing'", name="missing")


@pytest.fixture
def dumps(tmp_path: Path) -> list[Path]:
    rng = np.random.default_rng(2)
    for name in ("epoch1", "epoch2"):
        np.savez(tmp_path / f"{name}.npz", conv=np.maximum(rng.standard_normal((2, 6, 9, 9)), 0).astype(np.float32),
                 fc=np.maximum(rng.standard_normal((4, 65)), 0).astype(np.float16))
    return [tmp_path / "epoch1.npz", tmp_path / "epoch2.npz"]


def test_results_come_in_the_order_of_the_tasks(cluster: str) -> None:
    assert list(on_cluster(square, range(50), cluster)) == [number * number for number in range(50)]
    assert list(on_cores(square, range(5), 2)) == [0, 1, 4, 9, 16]


def test_the_cluster_finds_the_same(cluster: str, dumps: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[str, int, int]] = []
    found = characterise(dumps, scheduler=cluster, progress=lambda *said: done.append(said))
    assert found == characterise(dumps, jobs=1)
    assert done == [("characterise", number, 4) for number in range(5)]
    # Names that are meant from this folder are understood in the workers' as well.
    monkeypatch.chdir(dumps[0].parent)
    assert characterise(["epoch1.npz"], ["fc"], scheduler=cluster)[0].variants == found[1].variants


def test_a_worker_that_cannot_read_a_dump(cluster: str, dumps: list[Path]) -> None:
    def gone(stage: str, done: int, total: int) -> None:
        if not done:
            dumps[1].unlink()

    with pytest.raises(ValueError, match=r"^a Dask worker says: cannot read .*epoch2\.npz: No such file or directory "
                                         r"\(workers need every dump under the path that it has here\)$"):
        characterise(dumps, scheduler=cluster, progress=gone)


def test_what_workers_lack_is_told(cluster: str) -> None:
    with pytest.raises(ValueError, match=r"^a Dask worker says: no square of 3"):
        list(on_cluster(fail, [3], cluster))
    with pytest.raises(ValueError, match=r"cannot import what it needs \(No module named 'missing'\): install this"):
        list(on_cluster(lack, [3], cluster))


def test_a_cluster_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdma.workload.characterise.spread._PATIENCE_S", 0.5)
    with local_cluster(0) as empty, pytest.raises(ValueError, match="has no workers: start some"):
        list(on_cluster(square, [1], empty.scheduler_address))


def test_workers_that_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdma.workload.characterise.spread._PATIENCE_S", 0.5)
    monkeypatch.setattr("cdma.workload.characterise.spread._RETURN_S", 0.5)
    with local_cluster(1) as there:
        results = on_cluster(time.sleep, [0.0, 2.0, 8.0], there.scheduler_address)
        # Longer than the patience, with a worker at work.
        assert [next(results), next(results)] == [None, None]
        there.sync(there.workers[0].close, executor_wait=False)
        with pytest.raises(ValueError, match=r"^the Dask workers at .* are gone, and none came within 0\.5 seconds$"):
            next(results)


def test_a_result_that_comes_as_the_patience_ends() -> None:
    answers = iter([TimeoutError("timed out after 0.5 s."), 9])

    def result(timeout: float | None = None) -> int:
        answer = next(answers)
        if isinstance(answer, TimeoutError):
            raise answer
        return answer

    client = SimpleNamespace(wait_for_workers=lambda workers, timeout: None)
    assert _result(client, SimpleNamespace(result=result, status="finished"), "tcp://there") == 9


def late(number: int) -> int:
    raise TimeoutError(f"no square of {number} in time")


def test_a_task_that_runs_out_of_time(cluster: str) -> None:
    with pytest.raises(ValueError, match=r"gave up: no square of 3 in time$"):
        list(on_cluster(late, [3], cluster))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:{port}", "127.0.0.1:{port}", "nothing://there", "tcp://", "a b"])
def test_no_scheduler_at_the_address(monkeypatch: pytest.MonkeyPatch, address: str,
                                     capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("cdma.workload.characterise.spread._PATIENCE_S", 1)
    # A port that nothing listens at: it was free a moment ago.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ValueError, match=r"there is no Dask scheduler at .* that answers within 1 seconds") as caught:
        list(on_cluster(square, [1], address.format(port=port)))
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64), b""],
                         ids=["http", "zeros", "silence"])
def test_a_server_that_is_no_scheduler(monkeypatch: pytest.MonkeyPatch, answer: bytes,
                                       capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("cdma.workload.characterise.spread._PATIENCE_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        talks: list[socket.socket] = []

        def serve() -> None:
            with suppress(OSError):
                while True:
                    talks.append(server.accept()[0])
                    talks[-1].sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(ValueError, match="there is no Dask scheduler at"):
            list(on_cluster(square, [1], f"tcp://127.0.0.1:{server.getsockname()[1]}"))
        server.shutdown(socket.SHUT_RDWR)
    for talk in talks:
        talk.close()
    assert capfd.readouterr() == ("", "")


def test_jobs_and_a_scheduler_exclude_each_other(dumps: list[Path]) -> None:
    with pytest.raises(ValueError, match="either jobs or a scheduler"):
        characterise(dumps, jobs=2, scheduler="tcp://127.0.0.1:8786")


def test_without_dask_the_extra_is_named(dumps: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"distributed is not installed, .*pip install 'cdma-rtl\[cluster\]'$"):
        characterise(dumps, scheduler="tcp://127.0.0.1:8786")
