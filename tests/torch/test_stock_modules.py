"""Stock modules and loops through an engine, on its model and on the GPU's streams: losses and gradients are those of
plain training, and of PyTorch's own ``save_on_cpu``, bit for bit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import pytest

from cdma import workload
from cdma.engines import model_engine
from cdma.gpu import GpuEngine
from cdma.workload.dumps import load

torch: Any = import_module("torch")
nn, functional = torch.nn, torch.nn.functional
checkpoint: Any = import_module("torch.utils.checkpoint").checkpoint

Step = Callable[[Any, int], Any]
"""The loss of a step with a model; the step's number seeds its data."""


def data(number: int, *shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(number)).to(dtype)


def square(found: Any) -> Any:
    found = found[0] if isinstance(found, tuple) else found
    return (found * found.conj()).real.float().sum() if found.is_complex() else found.float().square().sum()


def through(*shape: int, dtype: Any = torch.float32) -> Step:
    """The module on random data."""
    return lambda model, number: square(model(data(number, *shape, dtype=dtype)))


def cells(*states: int, dtype: Any = torch.float32) -> Step:
    """A recurrent cell on five inputs, with so many states."""
    def step(model: Any, number: int) -> Any:
        state = None
        for each in data(number, 5, 4, 16, dtype=dtype):
            state = model(each, state)
        return sum(map(square, state if isinstance(state, tuple) else (state,)))
    return step


def packed(model: Any, number: int) -> Any:
    lengths = [7, 5, 2]
    sequences = nn.utils.rnn.pack_padded_sequence(data(number, 3, 7, 16), lengths, batch_first=True)
    return square(model(sequences)[0].data)


def attention(model: Any, number: int) -> Any:
    x = data(number, 2, 10, 32)
    return square(model(x, x, x))


def dot_product(model: Any, number: int) -> Any:
    query, key, value = model(data(number, 2, 10, 32)).reshape(2, 10, 4, 3, 8).permute(3, 0, 2, 1, 4)
    return square(functional.scaled_dot_product_attention(query, key, value, is_causal=True))


def channels_last(model: Any, number: int) -> Any:
    return square(model(data(number, 2, 8, 9, 9).to(memory_format=torch.channels_last)))


def tokens(model: Any, number: int) -> Any:
    return square(model(torch.randint(0, 50, (4, 9), generator=torch.Generator().manual_seed(number))))


class Through(nn.Module):
    """A linear layer in front of a function, so that the function has something to differentiate."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.first, self.function = nn.Linear(16, 32), function

    def forward(self, x: Any) -> Any:
        return self.function(self.first(x))


class Adapted(nn.Module):
    """A frozen layer with an adapter of low rank."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(16, 32).requires_grad_(False)
        self.down, self.up = nn.Linear(16, 4, bias=False), nn.Linear(4, 32, bias=False)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.base(x) + self.up(self.down(x)))


class Tied(nn.Module):
    """An embedding whose weight is that of the last layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.last = nn.Embedding(50, 16), nn.Linear(16, 50, bias=False)
        self.last.weight = self.embed.weight

    def forward(self, x: Any) -> Any:
        return self.last(torch.tanh(self.embed(x)))


def mlp() -> Any:
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 16))


def inplace(x: Any) -> Any:
    y = torch.sigmoid(x).clone()
    y[:, ::2].mul_(y[:, 1::2].clone())
    return y.relu_() * 2


def split(x: Any) -> Any:
    one, other = torch.ops.aten.unsafe_chunk(x, 2, 1)
    return one.sigmoid_() * other.tanh_() + one


def picked(x: Any) -> Any:
    return torch.where(x > 0, x.sort().values, x.cumprod(1)).gather(1, x.argsort())


def strided(x: Any) -> Any:
    return (x[:, None].expand(-1, 3, -1)[:, :, ::3] * x[:, None, ::3]).tanh()


def checkpointed(reentrant: bool) -> Step:
    def step(model: Any, number: int) -> Any:
        x = data(number, 4, 16).requires_grad_()
        return square(checkpoint(model, x, use_reentrant=reentrant))
    return step


def autocast(cached: bool) -> Step:
    def step(model: Any, number: int) -> Any:
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=cached):
            x = data(number, 4, 16)
            return square(model(x)) + square(model(x + 1))
    return step


def double_backward(model: Any, number: int) -> Any:
    x = data(number, 4, 16).requires_grad_()
    slope, = torch.autograd.grad(square(model(x)), x, create_graph=True)
    return square(slope)


def retained(model: Any, number: int) -> Any:
    loss = square(model(data(number, 4, 16)))
    loss.backward(retain_graph=True)
    return loss


def raising(model: Any, number: int) -> Any:
    x = data(number, 4, 16)
    with pytest.raises(RuntimeError):
        model(torch.cat([model(x), x], 1))
    loss = square(model(x))
    loss.register_hook(lambda grad: (_ for _ in ()).throw(ValueError("in backward")))
    with pytest.raises(ValueError, match="in backward"):
        loss.backward()
    return square(model(x))


_BUFFER = torch.zeros(4, 16)


def refilled(how: str) -> Step:
    """One buffer for all batches, filled again while an older graph lives, which is never used."""
    logged: list[Any] = []

    def step(model: Any, number: int) -> Any:
        for fresh in (number, number + 100):
            if how == "numpy":
                _BUFFER.numpy()[...] = data(fresh, 4, 16).numpy()
            else:
                _BUFFER.data.copy_(data(fresh, 4, 16))
            logged.append(square(model(_BUFFER)))
        return logged[-1]
    return step


def compiled(model: Any, number: int) -> Any:
    return square(torch.compile(model, backend="aot_eager")(data(number, 4, 16)))


CASES: dict[str, tuple[Callable[[], Any], Step]] = {
    "RNNCell tanh": (lambda: nn.RNNCell(16, 32), cells(1)),
    "RNNCell relu": (lambda: nn.RNNCell(16, 32, nonlinearity="relu"), cells(1)),
    "LSTMCell": (lambda: nn.LSTMCell(16, 32), cells(2)),
    "GRUCell": (lambda: nn.GRUCell(16, 32), cells(1)),
    "GRUCell float64": (lambda: nn.GRUCell(16, 32).double(), cells(1, dtype=torch.float64)),
    "GRUCell bfloat16": (lambda: nn.GRUCell(16, 32).bfloat16(), cells(1, dtype=torch.bfloat16)),
    "LSTMCell bfloat16": (lambda: nn.LSTMCell(16, 32).bfloat16(), cells(2, dtype=torch.bfloat16)),
    "RNN": (lambda: nn.RNN(16, 32), through(7, 3, 16)),
    "LSTM": (lambda: nn.LSTM(16, 32), through(7, 3, 16)),
    "LSTM float64": (lambda: nn.LSTM(16, 32).double(), through(7, 3, 16, dtype=torch.float64)),
    "LSTM, two layers, both ways": (lambda: nn.LSTM(16, 32, 2, bidirectional=True), through(7, 3, 16)),
    "LSTM with projections": (lambda: nn.LSTM(16, 32, proj_size=8), through(7, 3, 16)),
    "LSTM with dropout": (lambda: nn.LSTM(16, 32, 2, dropout=0.4), through(7, 3, 16)),
    "LSTM of packed sequences": (lambda: nn.LSTM(16, 32), packed),
    "GRU": (lambda: nn.GRU(16, 32), through(7, 3, 16)),
    "GRU, two layers, both ways": (lambda: nn.GRU(16, 32, 2, bidirectional=True, batch_first=True), through(3, 7, 16)),
    "GRU of packed sequences": (lambda: nn.GRU(16, 32), packed),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(32, 4, batch_first=True), attention),
    "MultiheadAttention with dropout": (lambda: nn.MultiheadAttention(32, 4, 0.3, batch_first=True), attention),
    "scaled_dot_product_attention": (lambda: nn.Linear(32, 96), dot_product),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), through(2, 10, 32)),
    "Conv1d": (lambda: nn.Conv1d(8, 16, 3), through(2, 8, 20)),
    "Conv2d with groups": (lambda: nn.Conv2d(8, 16, 3, padding=1, groups=4), through(2, 8, 9, 9)),
    "Conv3d": (lambda: nn.Conv3d(4, 8, 3), through(2, 4, 6, 6, 6)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(8, 4, 3, stride=2), through(2, 8, 7, 7)),
    "convolution, channels last": (lambda: nn.Conv2d(8, 16, 3).to(memory_format=torch.channels_last), channels_last),
    "BatchNorm2d": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(True)), through(4, 3, 9, 9)),
    "LayerNorm": (lambda: nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32)), through(4, 16)),
    "GroupNorm": (lambda: nn.Sequential(nn.Conv1d(4, 8, 3), nn.GroupNorm(4, 8)), through(2, 4, 20)),
    "InstanceNorm2d": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.InstanceNorm2d(8)), through(2, 3, 9, 9)),
    "RMSNorm": (lambda: nn.Sequential(nn.Linear(16, 32), nn.RMSNorm(32)), through(4, 16)),
    "weight_norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(16, 32)), through(4, 16)),
    "spectral_norm": (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(16, 32)), through(4, 16)),
    "Embedding": (lambda: nn.Sequential(nn.Embedding(50, 16), nn.Linear(16, 8)), tokens),
    "Embedding, sparse": (lambda: nn.Sequential(nn.Embedding(50, 16, sparse=True), nn.Linear(16, 8)), tokens),
    "EmbeddingBag, maximum": (lambda: nn.EmbeddingBag(50, 16, mode="max"), tokens),
    "tied weights": (Tied, tokens),
    "complex64": (lambda: nn.Linear(16, 32).to(torch.complex64), through(4, 16, dtype=torch.complex64)),
    "complex128": (lambda: nn.Linear(16, 32).to(torch.complex128), through(4, 16, dtype=torch.complex128)),
    "FFT": (lambda: Through(lambda x: torch.fft.rfft(x) * torch.fft.rfft(x + 1)), through(4, 16)),
    "conjugate and negative views": (lambda: Through(lambda x: torch.fft.rfft(x).conj().imag.square()), through(4, 16)),
    "in place, on slices": (lambda: Through(inplace), through(4, 16)),
    "in place, on unsafe chunks": (lambda: Through(split), through(4, 16)),
    "activations in place": (lambda: nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.1, True), nn.Linear(32, 16),
                                                   nn.Hardtanh(inplace=True), nn.ELU(inplace=True)), through(4, 16)),
    "pooling": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(2, return_indices=False), nn.AvgPool2d(2),
                                      nn.AdaptiveMaxPool2d(1)), through(2, 3, 16, 16)),
    "Dropout": (lambda: nn.Sequential(nn.Linear(16, 32), nn.Dropout(0.4), nn.AlphaDropout(0.2)), through(4, 16)),
    "sort, cumprod, where, gather": (lambda: Through(picked), through(4, 16)),
    "expanded and strided": (lambda: Through(strided), through(4, 16)),
    "LoRA": (Adapted, through(4, 16)),
    "autocast": (mlp, autocast(cached=True)),
    "autocast without its cache": (mlp, autocast(cached=False)),
    "autocast, frozen weights": (Adapted, autocast(cached=True)),
    "checkpointing, reentrant": (mlp, checkpointed(reentrant=True)),
    "checkpointing, not reentrant": (mlp, checkpointed(reentrant=False)),
    "double backward": (mlp, double_backward),
    "a graph that is retained": (mlp, retained),
    "exceptions": (mlp, raising),
    "a buffer filled through NumPy": (mlp, refilled("numpy")),
    "a buffer filled through .data": (mlp, refilled("data")),
    "torch.compile, aot_eager": (mlp, compiled),
}


def same(model: Any) -> Any:
    return model


def train(make: Callable[[], Any], step: Step, around: Callable[[Any], Any], wrap: Callable[[Any], Any] = same
          ) -> tuple[list[Any], list[Any]]:
    """Losses, and the gradients of all steps: of three steps, the last two accumulated."""
    torch.manual_seed(0)
    if hasattr(torch, "_dynamo"):
        torch._dynamo.reset()
    model = wrap(make())
    losses, gradients = [], []
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], 1e-3)
    with around(model):
        for number in range(3):
            loss = step(model, number)
            loss.backward()
            losses.append(loss.detach())
            gradients += [each.grad.to_dense().clone() if each.grad.is_sparse else each.grad.clone()
                          for each in model.parameters() if each.grad is not None]
            if number != 1:
                optimizer.step()
                optimizer.zero_grad()
    return losses, gradients


@pytest.fixture(params=["model", "gpu"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An engine's model; and the engine that a GPU has, all compressed, on the host's streams and the golden codec."""
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with model_engine("tiny", memory_bytes=1 << 26) if request.param == "model" \
            else GpuEngine("cpu", slab_bytes=1 << 24, policy="packed") as engine:
        yield engine


def check(engine: Any, make: Callable[[], Any], step: Step, wrap: Callable[[Any], Any] = same) -> None:
    plain = train(make, step, lambda model: nullcontext(), wrap)
    held = train(make, step, lambda model: torch.autograd.graph.save_on_cpu(), wrap)
    found = train(make, step, lambda model: workload.offload(model, engine, least=0), wrap)
    if isinstance(engine, GpuEngine):
        engine.check()
        assert engine.totals.packed and not engine.totals.stayed
    else:
        assert engine.transfers
    assert plain[1]
    for name, other in (("plain training", plain), ("save_on_cpu", held)):
        for one, its in zip((*found[0], *found[1]), (*other[0], *other[1]), strict=True):
            assert torch.equal(full(one), full(its)), name


def full(tensor: Any) -> Any:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


@pytest.mark.parametrize("name", CASES)
def test_stock(engine: Any, name: str) -> None:
    check(engine, *CASES[name])


@pytest.fixture(scope="module")
def group() -> Iterator[None]:
    """A process group of this process alone."""
    distributed = torch.distributed
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def sharded(model: Any) -> Any:
    shard = import_module("torch.distributed.fsdp").fully_shard
    for layer in model:
        if any(True for _ in layer.parameters()):
            shard(layer)
    return shard(model)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("kind", ["DDP", "FSDP2", "FSDP2 with autocast"])
@pytest.mark.usefixtures("group")
def test_distributed(engine: Any, kind: str, frozen: bool) -> None:
    def make() -> Any:
        model = mlp()
        model[0].requires_grad_(not frozen)
        return model

    check(engine, make, autocast(True) if "autocast" in kind else through(4, 16),
          torch.nn.parallel.DistributedDataParallel if kind == "DDP" else sharded)


@pytest.mark.usefixtures("group")
def test_gathered_weights_are_no_activations(engine: Any, tmp_path: Any) -> None:
    model = sharded(mlp())
    with workload.offload(model, engine, least=0) as offload:
        square(model(data(1, 4, 16))).backward()
    # Input, GELU's, and LayerNorm's input, mean and deviation; the output, which the loss keeps.
    assert offload.counts.weights >= 3
    shapes = {tuple(each.shape) for each in model.parameters()}
    with workload.capture(model, tmp_path / "dump", every=1, least=0):
        square(model(data(1, 4, 16))).backward()
    dump = load(tmp_path / "dump")
    assert dump and not shapes & {array.shape for array in dump.values()}


def test_weights_that_change_before_backward_are_told(engine: Any) -> None:
    """As plain training does; ``save_on_cpu`` would use the old ones."""
    model = mlp()
    with workload.offload(model, engine, least=0):
        loss = square(model(data(1, 4, 16)))
        torch.optim.SGD(model.parameters(), 0.1).step()
        with torch.no_grad():
            model[3].weight.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_strided_nested_tensors_stay(engine: Any) -> None:
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
    nested = torch.nested.nested_tensor([data(n, n, 16) for n in (3, 7)], layout=torch.strided)
    with workload.offload(model, engine, least=0) as offload:
        model(nested).to_padded_tensor(0.0).square().mean().backward()
    assert offload.counts.other


class Saves(torch.autograd.Function):
    """Saves a tensor, and every third of its elements."""

    found: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any, tensor: Any) -> Any:
        ctx.save_for_backward(tensor, tensor[::3])
        return 2 * x

    @staticmethod
    def backward(ctx: Any, *grad: Any) -> Any:
        Saves.found = ctx.saved_tensors
        return 2 * grad[0], None


class Saving(nn.Module):
    """A model that saves a tensor of a type."""

    def __init__(self, tensor: Any) -> None:
        super().__init__()
        self.weight, self.make = nn.Parameter(torch.ones(3)), lambda: tensor

    def forward(self, x: Any) -> Any:
        return Saves.apply(self.weight * x, self.make())


TYPES = sorted({each for each in vars(torch).values() if isinstance(each, torch.dtype)
                and not str(each).startswith(("torch.q", "torch.quint"))}, key=str)


@pytest.mark.filterwarnings("ignore:ComplexHalf", "ignore::cdma.workload.dumps.reading.DumpWarning")
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_type(engine: Any, dtype: Any, tmp_path: Any) -> None:
    raw = torch.arange(4096).to(torch.uint8) % 2
    tensor = torch.empty(0, dtype=dtype).set_(raw.clone().untyped_storage(), 0, (4096 // dtype.itemsize,))
    model = Saving(tensor)
    with workload.offload(model, engine, least=0):
        model(torch.ones(3)).sum().backward()
    assert Saves.found[0].dtype is dtype and Saves.found[0] is not tensor
    assert torch.equal(Saves.found[0].view(torch.uint8), raw)
    assert torch.equal(_bytes(Saves.found[1]), _bytes(tensor[::3]))
    with workload.capture(model, tmp_path / "dump", every=1):
        model(torch.ones(3)).sum().backward()
    if dtype.is_floating_point:
        array, = load(tmp_path / "dump").values()
        assert array.tobytes() == raw.numpy().tobytes()
    if not re.search("int[1-7]$", str(dtype)):      # PyTorch has no files with these
        torch.save({"a": tensor}, tmp_path / "a.pt")
        assert load(tmp_path / "a.pt")["a"].tobytes() == raw.numpy().tobytes()


def _bytes(tensor: Any) -> Any:
    """The bytes of the elements, of types that cannot be copied too."""
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    tensor = tensor if tensor.element_size() == 16 else tensor.view(kinds[tensor.element_size()])
    return tensor.contiguous().view(torch.uint8)
