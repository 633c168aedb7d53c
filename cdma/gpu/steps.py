"""Training steps on a GPU, of the classes of GPT-2 and ResNet-50, on synthetic data: what each way of saving memory
takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import median
from typing import Any

from cdma.gpu.engine import GpuEngine
from cdma.gpu.streams import streams_of
from cdma.workload.extra import package
from cdma.workload.training import offload

__all__ = ["NETWORKS", "WAYS", "steps"]

torch = package("torch", "gpu")
nn, functional = torch.nn, torch.nn.functional


class _Attention(nn.Module):
    """Attention and a perceptron, each behind a norm and added to what came in."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, tokens: Any) -> Any:
        heads = self.qkv(self.norm1(tokens)).unflatten(-1, (3, -1, 64)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*heads, is_causal=True)
        tokens = tokens + self.out(mixed.transpose(1, 2).flatten(2))
        return tokens + self.mlp(self.norm2(tokens))


class _Bottleneck(nn.Module):
    """Three convolutions around a sum, as He et al. have them."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        shapes = ((channels, width, 1, 1), (width, width, 3, stride), (width, 4 * width, 1, 1))
        self.parts = nn.ModuleList(nn.Sequential(nn.Conv2d(one, other, size, step, size // 2, bias=False),
                                                 nn.BatchNorm2d(other)) for one, other, size, step in shapes)
        self.beside = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
                                    ) if stride > 1 or channels != 4 * width else nn.Identity()

    def forward(self, maps: Any) -> Any:
        found = maps
        for part in self.parts[:2]:
            found = functional.relu(part(found), inplace=True)
        return functional.relu(self.parts[2](found) + self.beside(maps), inplace=True)


class _Network(nn.Module):
    """Parts before, blocks, and parts behind; blocks are computed again in backward where ``again`` is set."""

    def __init__(self, first: Any, blocks: Any, last: Any) -> None:
        super().__init__()
        self.first, self.blocks, self.last, self.again = first, nn.ModuleList(blocks), last, False

    def forward(self, values: Any) -> Any:
        values = self.first(values)
        for block in self.blocks:
            values = torch.utils.checkpoint.checkpoint(block, values, use_reentrant=False) if self.again \
                else block(values)
        return self.last(values)


def _gpt2(small: bool) -> tuple[Any, Any, Any]:
    layers, width, context, batch, words = (2, 64, 64, 2, 256) if small else (12, 768, 1024, 8, 50304)
    tokens = torch.randint(words, (batch, context + 1))
    network = _Network(nn.Embedding(words, width), (_Attention(width) for _ in range(layers)),
                       nn.Sequential(nn.LayerNorm(width), nn.Linear(width, words, bias=False), nn.Flatten(0, 1)))
    return network, tokens[:, :-1], tokens[:, 1:].flatten()


def _resnet50(small: bool) -> tuple[Any, Any, Any]:
    width, size, batch = (8, 32, 4) if small else (64, 224, 64)
    channels, blocks = width, []
    for stage, count in enumerate((1, 1, 1, 1) if small else (3, 4, 6, 3)):
        for number in range(count):
            blocks.append(_Bottleneck(channels, width << stage, 2 if stage and not number else 1))
            channels = 4 * width << stage
    first = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
                          nn.MaxPool2d(3, 2, 1))
    last = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))
    return _Network(first, blocks, last), torch.randn(batch, 3, size, size), torch.randint(1000, (batch,))


NETWORKS: dict[str, Callable[[bool], tuple[Any, Any, Any]]] = {"gpt2": _gpt2, "resnet50": _resnet50}
"""Networks, their inputs and labels by a size: small ones are for rehearsals on the CPU."""

WAYS = ("plain", "save_on_cpu", "async", "compressed", "recompute")
"""Everything stays; PyTorch's own hooks; offloaded as it is; by the rule compressed or not; blocks computed again."""


def steps(device: Any, name: str, ways: tuple[str, ...] = WAYS, runs: int | None = None, slab_bytes: int = 8 << 30,
          budget: int = 0) -> Iterator[dict[str, Any]]:
    """A row for each way: milliseconds of a step (the median), peak memory, raw bytes of a step and those that crossed
    the link for them one way, the share of the step in which the SMs code, and whether loss and gradients of the last
    step are those of plain training, bit for bit. All ways train from the same weights, with PyTorch's deterministic
    kernels: others differ from run to run.
    """
    # Read when cuBLAS begins, which is later.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    device = torch.device(device)
    small = device.type == "cpu"
    plain: list[Any] | None = None
    for way in ways:
        torch.manual_seed(1)
        model, values, labels = NETWORKS[name](small)
        model, values, labels = model.to(device), values.to(device), labels.to(device)
        model.again = way == "recompute"
        engine = GpuEngine(device, slab_bytes=64 << 20 if small else slab_bytes, budget=budget,
                           policy="plain" if way == "async" else None) if way in ("async", "compressed") else None
        around: AbstractContextManager[Any] = nullcontext()
        if way == "save_on_cpu":
            around = torch.autograd.graph.save_on_cpu(pin_memory=not small)
        elif engine is not None:
            around = offload(model, engine, least=4096 if small else 1 << 20)
        with around, _deterministic():
            seconds, peak, found, first = _train(model, values, labels, device, runs or (1 if small else 5), engine)
        row = {"network": name, "batch": len(values), "way": way, "milliseconds": 1e3 * median(seconds),
               "peak_bytes": peak}
        if engine is not None:
            engine.check()
            report = engine.report()
            codec, *sizes = (report[what] - first[what] for what in ("codec_seconds", "raw_bytes", "link_bytes"))
            row |= {"codec_share": codec / sum(seconds), "engine": report,
                    **dict(zip(("raw_bytes", "link_bytes"), (size / len(seconds) for size in sizes), strict=True))}
        plain = plain if plain is not None else found if way == "plain" else None
        if plain is not None:
            row["identical"] = all(map(torch.equal, plain, found))
        yield row
        del model, engine, around, found


@contextmanager
def _deterministic() -> Iterator[None]:
    before, threads = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_num_threads(1)    # sums on a CPU have one order
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.set_num_threads(threads)


def _train(model: Any, values: Any, labels: Any, device: Any, runs: int, engine: GpuEngine | None
           ) -> tuple[list[float], int | None, list[Any], dict[str, Any]]:
    """Seconds of steps after the first two, the peak of device memory, loss and gradients of the last, and what the
    engine reported before the steps that count: kernels are compiled in the first."""
    streams = streams_of(device)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    seconds, loss, before = [], None, {}
    for number in range(runs + 2):
        if number == 2 and engine is not None:
            before = engine.report()
        optimizer.zero_grad()
        first = streams.mark()
        with torch.autocast(device.type, torch.bfloat16):
            loss = functional.cross_entropy(model(values).float(), labels)
        loss.backward()
        optimizer.step()
        last = streams.mark()
        streams.wait(last)
        if number > 1:
            seconds.append(streams.seconds(first, last))
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    assert loss is not None
    return seconds, peak, [loss.detach(), *(each.grad.clone() for each in model.parameters())], before
