"""Networks that ``cdma capture`` has seen: the file ``network.json`` in the folder of a dump.

It has the layers in the order of forward, with operations, traffic and what each reads, writes and keeps, all tensors
with their full shapes, and the times of the layers where they were measured. Tensors have the names of the dump's
arrays. docs/capture.md describes the fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from cdma.golden.results import from_json
from cdma.workload.dumps.types import element_type, is_floating, type_name
from cdma.workload.json_file import read_json
from cdma.workload.networks.layers import COMPUTE, INPUT, Layer, Network
from cdma.workload.networks.tensors import ROLES, Step, Tensor, Tensors

__all__ = ["FORMAT", "KINDS", "NETWORK", "VERSION", "Captured", "CapturedStep", "CapturedTensor", "Part", "Table",
           "captured_in", "read_captured"]

NETWORK = "network.json"
"""Name of the file in the folder of a dump."""
FORMAT, VERSION = "cdma-network", 1

KINDS = {"conv": 2.0, "fc": 2.0, "matmul": 2.0, "attention": 2.5, "other": 1.0}
"""The kinds of work in a step, and the operations of backward as a multiple of forward's. Fused attention computes its
scores again in backward."""


@dataclass(frozen=True)
class Part:
    """The work of one kind in a step: operations of forward, a multiply-add counted as two, and the bytes that they
    read and write in device memory, without weights."""

    kind: str
    operations: int
    moved_bytes: int


@dataclass(frozen=True)
class CapturedStep:
    """A layer with the functions behind it.

    Attributes
    ----------
    name
        Of the layer; where one is called several times, ``fc#2`` and so on.
    reads, writes, keeps
        Names of the tensors that forward reads and writes, and that backward reads.
    params
        Learned parameters that it reads first.
    parts
        Its work by kind, see :data:`KINDS`.
    forward_ms, backward_ms
        Measured times; None if there are none.
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    keeps: tuple[str, ...]
    params: int
    parts: tuple[Part, ...]
    forward_ms: float | None = None
    backward_ms: float | None = None


@dataclass(frozen=True)
class CapturedTensor:
    """A tensor of the whole batch: shape, type as PyTorch names it, and the one of
    :data:`cdma.workload.networks.tensors.ROLES` that made its values."""

    shape: tuple[int, ...]
    dtype: str
    role: str


@dataclass(frozen=True)
class Table:
    """The content of the file.

    Attributes
    ----------
    format, version
        Of the file.
    model
        Class of the model.
    step
        The training step that was seen.
    batch
        Samples of a step.
    compute
        Type that most operations of products have, one of :data:`cdma.workload.networks.layers.COMPUTE`.
    device, device_name
        Type of the device that trained, as PyTorch names it, and its maker's name if it is known.
    tensors, steps
        By name, and in the order of forward.
    """

    format: str
    version: int
    model: str
    step: int
    batch: int
    compute: str
    device: str
    device_name: str | None = None
    tensors: dict[str, CapturedTensor] = field(default_factory=dict)
    steps: tuple[CapturedStep, ...] = ()


@dataclass(frozen=True)
class Captured:
    """A network that was captured.

    Attributes
    ----------
    tensors
        Its steps and tensors.
    times
        Seconds of forward and backward by step; None if they were not measured.
    device, device_name
        The device that trained, see :class:`Table`.
    """

    tensors: Tensors
    times: Mapping[str, tuple[float, float]] | None
    device: str
    device_name: str | None


def captured_in(name: str) -> bool:
    """Whether a network's name is a folder that was captured, and not a name of the catalogue or a file."""
    return Path(name).is_dir()


def read_captured(folder: str | Path, compute: str | None = None) -> Captured:
    """The network in a folder that ``cdma capture`` wrote.

    Parameters
    ----------
    folder
        With :data:`NETWORK` in it.
    compute
        Type of products in place of the captured one.

    Raises
    ------
    ValueError
        If the file is missing or malformed.
    """
    path = Path(folder) / NETWORK
    if not path.is_file():
        raise ValueError(f"{folder} is a folder without {NETWORK}: give one that cdma capture wrote, or a network")
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f'{path} is not a captured network: it does not say "format": "{FORMAT}"')
    if content.get("version") != VERSION:
        raise ValueError(f"{path} is of version {content.get('version')!r}, and {VERSION} is known")
    try:
        table = from_json(Table, content)
        _check(table)
        plan = _tensors(table, str(folder), compute)
    except ValueError as error:
        raise ValueError(f"{path} is malformed: {error}") from error
    times = {step.name: (step.forward_ms / 1e3, step.backward_ms / 1e3) for step in table.steps
             if step.forward_ms is not None and step.backward_ms is not None}
    return Captured(plan, times if len(times) == len(table.steps) else None, table.device, table.device_name)


def _check(table: Table) -> None:
    """ValueError if names, numbers or types of a table are not allowed."""
    if not table.steps:
        raise ValueError("there are no steps")
    if table.batch < 1:
        raise ValueError(f"the batch must be 1 or more, not {table.batch}")
    for name, tensor in table.tensors.items():
        if tensor.role not in ROLES:
            raise ValueError(f"the role of {name} is {tensor.role!r}: {', '.join(ROLES)} are allowed")
        if not is_floating(element_type(tensor.dtype)):
            raise ValueError(f"the type of {name} is {tensor.dtype}, which is none of activations")
        if any(size < 1 for size in tensor.shape):
            raise ValueError(f"the shape of {name} must have sizes of 1 or more, not {list(tensor.shape)}")
    seen: set[str] = set()
    for step in table.steps:
        if step.name in seen:
            raise ValueError(f"there are two steps {step.name!r}")
        seen.add(step.name)
        for name in (*step.reads, *step.writes, *step.keeps):
            if name not in table.tensors:
                raise ValueError(f"{step.name} names the tensor {name!r}, which is not in tensors")
        numbers = [step.params, *(number for part in step.parts for number in (part.operations, part.moved_bytes)),
                   *(time for time in (step.forward_ms, step.backward_ms) if time is not None)]
        if not all(0 <= number < math.inf for number in numbers):
            raise ValueError(f"the numbers of {step.name} must be 0 or more")
        for part in step.parts:
            if part.kind not in KINDS:
                raise ValueError(f"{step.name} has a part of the kind {part.kind!r}: {', '.join(KINDS)} are allowed")


def _tensors(table: Table, folder: str, compute: str | None) -> Tensors:
    """The steps and tensors of a table."""
    steps, layers, traffic = [], [], {}
    for number, step in enumerate(table.steps):
        first = number == 0 or set(step.reads) <= {INPUT}
        own = _layers(step, table, first)
        traffic |= {layer.name: part.moved_bytes for layer, part in zip(own, step.parts, strict=False)}
        layers += own
        steps.append(Step(step.name, own, step.reads, step.writes[0] if step.writes else "", step.keeps))
    found = {name: _tensor(name, tensor, table.steps) for name, tensor in table.tensors.items()}
    network = Network(table.model, f"captured in {folder}, step {table.step}", table.batch,
                      _sample(table.tensors.get(INPUT)), tuple(layers), _most(found.values()), table.compute)
    if compute is not None:
        network = replace(network, compute=compute)
    weights = element_type(network.dtype).itemsize
    return Tensors(network, tuple(steps), found, {layer.name: traffic.get(layer.name, 0) + layer.params * weights
                                                  for layer in layers})


def _layers(step: CapturedStep, table: Table, first: bool) -> tuple[Layer, ...]:
    """A layer for each part of a step; the first one has the step's name and parameters."""
    found = []
    for part in step.parts or (Part("other", 0, 0),):
        # The gradient of the network's input is not computed.
        gradients = 1.0 if first and part.kind in ("conv", "fc") else KINDS[part.kind]
        found.append(Layer(f"{step.name}/{part.kind}" if found else step.name, part.kind, step.reads, (),
                           0 if found else step.params, part.operations // table.batch, gradients))
    return tuple(found)


def _tensor(name: str, tensor: CapturedTensor, steps: tuple[CapturedStep, ...]) -> Tensor:
    written, read, kept = (tuple(number for number, names in enumerate(each) if name in names) for each in (
        [step.writes for step in steps], [step.reads for step in steps], [step.keeps for step in steps]))
    elements, kind = math.prod(tensor.shape), element_type(tensor.dtype)
    convs = any(part.kind == "conv" for number in read for part in steps[number].parts)
    # What only backward reads is there from the step that keeps it.
    written = written if written or read else kept[:1] or (0,)
    return Tensor(name, elements, elements * kind.itemsize, type_name(kind), tensor.role, written, read, kept, convs)


def _sample(tensor: CapturedTensor | None) -> tuple[int, ...]:
    return () if tensor is None else tensor.shape[1:]


def _most(tensors: Iterable[Tensor]) -> str:
    """The type that most bytes of saved tensors have."""
    sizes: dict[str, int] = {}
    for tensor in tensors:
        if tensor.saved and element_type(tensor.dtype).itemsize <= 4:
            sizes[tensor.dtype] = sizes.get(tensor.dtype, 0) + tensor.size
    return max(sizes, key=lambda dtype: sizes[dtype], default=COMPUTE[0])
