"""The codec for GPUs in Triton's interpreter: streams, choices, verdicts and roundings are the golden model's."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"        # before Triton's kernels are imported

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdma import gpu
from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.errors import StreamError
from cdma.golden.codec.narrowing import NARROWED_CODINGS, narrow, widen
from cdma.golden.codec.smallest import SIZED, smallest
from cdma.gpu import launch
from cdma.gpu.codec import kernels
from cdma.gpu.cuda import CudaKernels
from cdma.gpu.launch import TritonKernels
from cdma.workload.dumps import load
from tests.cdma.gpu.test_exponents import Kernels
from tests.golden.codec.test_blocks_errors import CASES
from tests.golden.samples import corners, damaged, floats, free_payload, outcome, raws

torch: Any = import_module("torch")
TorchDispatchMode: Any = import_module("torch.utils._python_dispatch").TorchDispatchMode
ROOT = Path(__file__).resolve().parents[2]
by_coding = pytest.mark.parametrize("coding", SIZED, ids=lambda coding: coding.name)
few = settings(max_examples=8, deadline=None, derandomize=True,
               suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def tensor(raw: bytes | np.ndarray) -> Any:
    return torch.from_numpy(np.frombuffer(raw, np.uint8).copy())


def check(raw: bytes | np.ndarray, coding: Coding, block_bytes: int = 4096) -> None:
    """The stream, its index and what comes back."""
    made = gpu.compress(tensor(raw), [coding], block_bytes=block_bytes)
    stream = made.content().numpy()
    assert stream.tobytes() == blocks.compress(raw, coding, block_bytes).tobytes()
    assert made.index.tolist() == [block.payload_bytes for block in blocks.headers(stream)]
    back, right = gpu.expand(made)
    assert bool(right) and back.numpy().tobytes() == bytes(raw)


@by_coding
def test_corners(coding: Coding) -> None:
    check(b"".join(corners(coding.element_bytes)), coding)


@by_coding
@pytest.mark.parametrize("elements", [0, 1, 33, 127])
def test_short_blocks(coding: Coding, elements: int) -> None:
    size = coding.element_bytes
    check(floats(elements, size, 3) + bytes(size * (elements > 33)), coding, 512)


@pytest.mark.parametrize(("coding", "block_bytes"), [(Coding.BFLOAT16, 1024), (Coding.ZVC32, 16384)])
def test_other_blocks(coding: Coding, block_bytes: int) -> None:
    check(floats(block_bytes, coding.element_bytes, 5), coding, block_bytes)


@by_coding
@few
@given(data=st.data())
def test_any_bytes(coding: Coding, data: st.DataObject) -> None:
    check(data.draw(raws(coding.element_bytes)), coding, 1024)


@pytest.mark.parametrize(("dump", "dtype", "coding"), [
    ("sums_gpt", "bfloat16", Coding.BFLOAT16), ("sums_gpt", "float32", Coding.BFLOAT16),
    ("digits_cnn", "float32", Coding.FLOAT32), ("sparse", "float32", Coding.ZVC32)])
def test_shipped_values_choose(dump: str, dtype: str, coding: Coding) -> None:
    """bfloat16, float32 that holds bfloat16, float32, and zeros among any bits."""
    if dump == "sparse":
        rng = np.random.default_rng(1)
        raw = (rng.integers(1, 1 << 32, 6000, np.uint32) * rng.integers(0, 2, 6000, np.uint32)).view(np.uint8)
    else:
        raw = np.concatenate([array.reshape(-1).view(np.uint8)[:8192] for array in
                              load(next(ROOT.glob(f"workload/data/{dump}.*"))).values()])[:24000]
    values = tensor(raw).view(torch.bfloat16 if dump == "sums_gpt" else torch.float32).to(getattr(torch, dtype))
    made = gpu.compress(values)
    assert Coding(int(made.coding)) == coding == smallest(values.view(torch.uint8).numpy(), made.codings)
    assert made.content().numpy().tobytes() == blocks.compress(values.view(torch.uint8).numpy(), coding).tobytes()
    assert torch.equal(gpu.decompress(made).view(torch.uint8), values.view(torch.uint8))
    held = gpu.compress(values, backend="golden")
    assert held.content().tolist() == made.content().tolist() and int(held.coding) == coding


@pytest.mark.parametrize("form", NARROWED_CODINGS)
@pytest.mark.parametrize("backend", ["triton", "golden"])
def test_the_smallest_blocks_of_narrowed_values(form: int, backend: str) -> None:
    values = torch.linspace(-1, 1, 700)
    made = gpu.compress(values, narrowing=form, block_bytes=1024, backend=backend)
    codes = narrow(values.numpy().view(np.uint32), form)
    assert made.content().numpy().tobytes() == blocks.compress(codes, int(made.coding), 512).tobytes()
    assert gpu.decompress(made).numpy().tobytes() == widen(codes, form).tobytes()


@pytest.mark.parametrize("form", NARROWED_CODINGS)
def test_narrowing(form: int) -> None:
    rng = np.random.default_rng(1)
    bits = np.concatenate([rng.integers(0, 1 << 32, 700, dtype=np.uint64).astype(np.uint32), np.array([
        0, 1 << 31, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF, 0x3F808000, 0x3F818000, 0x477FEFFF,
        0x477FF000, 0x33000000, 0x33000001, 0x387FFFFF, 0x00008000, 0xB8000001], np.uint32),
        (rng.standard_normal(1500) * 1e-4).astype(np.float32).view(np.uint32)])
    made = gpu.compress(torch.from_numpy(bits.view(np.float32)), narrowing=form)
    codes = narrow(bits, form)
    assert made.content().numpy().tobytes() == blocks.compress(codes, int(made.coding), 2048).tobytes()
    assert gpu.decompress(made).numpy().tobytes() == widen(codes, form).tobytes()
    every = np.arange(1 << 16, dtype=np.uint16)
    packed = torch.from_numpy(blocks.compress(every, Coding.ZVC16, 16384))
    read = gpu.of_stream(packed, every.shape, torch.float32, narrowing=form, block_bytes=32768)
    back, right = gpu.expand(read)
    assert bool(right) and back.numpy().tobytes() == widen(every, form).tobytes()


def verdict(stream: bytes, block_bytes: int, raw_bytes: int, index: Any) -> None:
    """That of the golden model with an index from the headers; with another one at least no stream that is wrong."""
    def read() -> bytes:
        found = gpu.of_stream(tensor(stream), (raw_bytes,), torch.uint8, block_bytes=block_bytes)
        return gpu.decompress(found).numpy().tobytes()

    wanted = outcome(blocks.decompress, stream, block_bytes, raw_bytes)
    assert outcome(read) == wanted
    if index is None:
        index = torch.tensor([block.payload_bytes for block in _walk(stream)], dtype=torch.int32).to(torch.uint16)
    found = gpu.of_stream(tensor(stream), (raw_bytes,), torch.uint8, block_bytes=block_bytes, index=index)
    back, right = gpu.expand(found)
    if bool(right):
        assert back.numpy().tobytes() == wanted
    else:
        assert isinstance(wanted, tuple) or index.numel() * block_bytes < raw_bytes or Coding.LINES32 in {
            block.coding for block in _walk(stream)}


def _walk(stream: bytes) -> list[blocks.Block]:
    found: list[blocks.Block] = []
    with suppress(StreamError):
        for block in blocks.headers(stream):
            found.append(block)
    return found


@pytest.mark.parametrize(("stream", "options"), [case[1:3] for case in CASES if "crc" not in case[2]],
                         ids=[case[0] for case in CASES if "crc" not in case[2]])
def test_verdicts(stream: bytes, options: dict[str, int]) -> None:
    size = options.get("block", 512)
    known = options.get("raw_bytes")
    most = (len(list(_walk(stream))) or 1) * size
    for length in [known] if known is not None else [most, int.from_bytes(stream[4:8], "little") % size or 4]:
        verdict(stream, size, length, None)


@by_coding
@few
@given(data=st.data())
def test_damaged_streams(coding: Coding, data: st.DataObject) -> None:
    size = coding.element_bytes
    raw = data.draw(raws(size))
    made = gpu.compress(tensor(raw), [coding], block_bytes=512, backend="golden")
    verdict(data.draw(damaged(made.content().numpy().tobytes())), 512, len(raw), made.index)


@pytest.mark.parametrize("size", [2, 4])
def test_streams_of_other_writers(size: int) -> None:
    for seed in range(6):
        payload = free_payload(size, 8, seed)
        stream = len(payload).to_bytes(2, "little") + bytes([0x20 | size, 0]) + payload + bytes(-len(payload) % 4)
        verdict(stream, 1024, 1024, None)


def test_an_index_of_another_stream_is_no_fault_of_the_stream() -> None:
    raw = floats(512, 2, 3)
    made = gpu.compress(tensor(raw), [Coding.BFLOAT16], block_bytes=512, backend="golden")
    other = made.index.to(torch.int32).flip(0).to(torch.uint16)
    found = gpu.of_stream(made.content(), (1024,), torch.uint8, block_bytes=512, index=other)
    assert not bool(gpu.expand(found)[1])
    assert gpu.decompress(found).numpy().tobytes() == raw


def test_mistakes() -> None:
    values = torch.zeros(10, dtype=torch.float32)
    for call, message in [
            (lambda: gpu.compress(values, block_bytes=4000), "block_bytes must be a power of two"),
            (lambda: gpu.compress(values, narrowing=1, block_bytes=512),
             "power of two from 1024 .* are narrowed, not 512"),
            (lambda: gpu.of_stream(values.view(torch.uint8), (10,), torch.float32, narrowing=2, block_bytes=512),
             "power of two from 1024 .* are narrowed, not 512"),
            (lambda: gpu.compress(values.double(), narrowing=1), "only float32 can be narrowed, not torch.float64"),
            (lambda: gpu.compress(torch.zeros(3, dtype=torch.uint8), [Coding.ZVC32]), "none of the codings zvc32"),
            (lambda: gpu.compress(values, backend="cuda"), "the backend cuda needs a GPU, not cpu"),
            (lambda: gpu.compress(values, backend="fast"), "must be cuda, triton or golden")]:
        with pytest.raises((TypeError, ValueError), match=message):
            call()


_COMPILES = """
import sys, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from cdma.gpu.decode import decode
from cdma.gpu.encode import encode, measure
for size, coding, arch in (map(int, each.split(",")) for each in sys.argv[1:]):
    values = {1: "*u8", 2: "*i16", 4: "*i32"}[size]
    fixed = {"SIZE": size, "LINES": 32, "NARROW": 0}
    for kernel, types, more in (
            (measure, {"raw": values, "lengths": "*i32", "elements": "i64", "blocks": "i32", "first": "i32"},
             {"EXPONENTS": size > 1}),
            (encode, {"raw": values, "stream": "*u8", "places": "*i64", "chosen": "*i32", "elements": "i64",
                      "first": "i32"}, {"CODING": coding}),
            (decode, {"stream": "*u8", "places": "*i64", "lengths": "*u16", "out": values, "state": "*u8",
                      "stream_bytes": "i64", "raw_bytes": "i64", "first": "i32"}, {"CODING": coding, "RAW": 1})):
        constants = fixed | more
        signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
        constants = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
        made = triton.compile(ASTSource(kernel, signature, constants), target=GPUTarget("cuda", arch, 32))
        assert made.asm["cubin"] and f"sm_{arch}" in made.asm["ptx"], (coding, kernel)
"""


def test_kernels_compile_without_a_gpu() -> None:
    """In one process, outside the interpreter."""
    shapes = [*((coding, 90) for coding in SIZED), (Coding.BFLOAT16, 80), (Coding.ZVC32, 80)]
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    subprocess.run([sys.executable, "-c", _COMPILES, *(f"{coding.element_bytes},{int(coding)},{arch}"
                                                       for coding, arch in shapes)], cwd=ROOT, check=True,
                   env=environment | {"PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize(("arch", "block_bytes", "value_bytes"), [
    (80, 4096, 2), (90, 4096, 2), (90, 32768, 2), (80, 4096, 4), (90, 4096, 4), (90, 512, 4)])
def test_cuda_compiles_without_a_gpu(arch: int, block_bytes: int, value_bytes: int) -> None:
    from cdma.gpu import cuda, nvrtc

    if nvrtc.compiler() is None:
        pytest.skip("NVRTC is not installed: it is in the extra gpu on x86-64")
    code = cuda.code(block_bytes, value_bytes, arch)
    assert all(f"cdma_{kernel}".encode() in code for kernel in ("measure", "encode", "decode"))
    with pytest.raises(RuntimeError, match=r'NVRTC does not compile x\.cu: x\.cu\(1\): error: '):
        nvrtc.cubin("kernel", "x.cu", arch)


@pytest.mark.parametrize("coding", [Coding.BFLOAT16, Coding.FLOAT32], ids=lambda coding: coding.name)
def test_cuda_has_whole_blocks_and_triton_the_last(coding: Coding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                   ) -> None:
    """The kernels' build for the host in the place of a GPU's."""
    built, launched = Kernels(coding.element_bytes, 4, tmp_path), []

    def launch(name: str, sizes: tuple[int, int], first: Any, count: int, *others: Any) -> None:
        assert sizes == (512, coding.element_bytes)
        launched.append((name, count))
        built.library[name](*(ctypes.c_void_p(each.data_ptr()) if isinstance(each, torch.Tensor) else each
                              for each in (first, *others)), ctypes.c_int64(count))

    monkeypatch.setattr("cdma.gpu.cuda._launch", launch)
    monkeypatch.setattr("cdma.gpu.codec.kernels", lambda device, backend=None: CudaKernels())
    check(floats(1900 // coding.element_bytes, coding.element_bytes, 3), coding, 512)
    assert launched == [(f"cdma_{name}", 3) for name in ("measure", "encode", "decode")]


def test_the_fastest_that_is_there_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA with NVIDIA's GPU and compiler, otherwise Triton."""
    for version, compiler, wanted in (("13.0", object(), CudaKernels), ("13.0", None, TritonKernels),
                                      (None, object(), TritonKernels)):
        monkeypatch.setattr(torch.version, "cuda", version)
        monkeypatch.setattr("cdma.gpu.nvrtc.compiler", lambda found=compiler: found)
        assert type(kernels("cuda")) is wanted
        assert type(kernels("cuda", "triton")) is TritonKernels
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr("cdma.gpu.nvrtc.compiler", lambda: None)
    with pytest.raises(ValueError, match="NVRTC is not installed, and the backend cuda needs it: choose triton"):
        kernels("cuda", "cuda")


def test_triton_launches_on_the_device_of_the_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the current one is; the CPU has none."""
    done: list[Any] = []

    @contextmanager
    def current(device: Any) -> Iterator[None]:
        done.append(device)
        yield
        done.append("left")

    class Kernel:
        def __getitem__(self, grid: tuple[int]) -> Any:
            return lambda *arguments, **options: done.append((grid, arguments[1:], options))

    monkeypatch.setattr(torch.cuda, "device", current)
    launched = ((3,), (5, 6), {"num_warps": 4})
    launch._launch(Kernel(), 3, 4096, SimpleNamespace(is_cuda=True, device="cuda:1"), 5, 6)
    assert done == ["cuda:1", launched, "left"]
    launch._launch(Kernel(), 3, 4096, torch.zeros(1), 5, 6)
    assert done[3:] == [launched]


class Noted(TorchDispatchMode):
    """Notes the operations of PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(operation.overloadpacket.__name__)
        return operation(*args, **(kwargs or {}))


def test_the_host_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """No value, and no length that depends on values, is read between the launches of kernels."""
    for kind in ("measure", "encode", "decode"):
        monkeypatch.setattr(TritonKernels, kind, lambda *_, **__: None)
    values = torch.zeros(5000, dtype=torch.float32)
    gpu.compress(values)                        # the table of codings is made once
    with Noted() as noted:
        gpu.expand(gpu.compress(values))
    assert "cumsum" in noted.names
    assert not noted.names & {"_local_scalar_dense", "item", "equal", "nonzero", "masked_select", "unique"}
    with Noted() as noted:
        gpu.compress(values).content()
    assert "_local_scalar_dense" in noted.names


def test_what_it_imports() -> None:
    """NumPy, PyTorch and Triton: machines with a GPU have no more."""
    missing = ["amaranth", "cocotb", "google_crc32c", "ml_dtypes", "rich", "safetensors"]
    script = (f"import sys; sys.modules.update(dict.fromkeys({missing}))\n"
              "import torch; from cdma import gpu, workload; from cdma.golden.codec import blocks; workload.offload\n"
              "import cdma.gpu.bench, cdma.gpu.cuda\n"
              "made = gpu.compress(torch.arange(100)); assert gpu.decompress(made).sum() == 4950")
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
