"""The operations of a captured call: how much each layer computes, and which memory it reads and writes.

Operations are seen below autograd and autocast, as the device runs them. Functions between modules count to the module
that finished before, as in :mod:`cdma.workload.capturing.profiling`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cdma.workload.capturing.storage import Weights, kept_bytes, storage_of, tensors, type_of
from cdma.workload.extra import package

__all__ = ["Operations", "Visit"]

torch = package("torch", "torch")
_Mode = package("torch.utils._python_dispatch", "torch").TorchDispatchMode
_COUNTS = package("torch.utils.flop_counter", "torch").flop_registry

_CASTS = ("_to_copy", "clone", "copy", "contiguous")
_NORMS = ("native_layer_norm", "native_group_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm",
          "_native_batch_norm_legit", "_fused_rms_norm", "rms_norm", "batch_norm")
_ROLES = {
    "relu": ("relu", "relu_", "threshold", "threshold_", "clamp_min", "clamp_min_", "hardtanh", "hardtanh_"),
    "gelu": ("gelu", "gelu_", "elu", "elu_", "mish", "softplus", "hardswish", "hardswish_", "leaky_relu",
             "leaky_relu_", "tanh", "tanh_", "sigmoid", "sigmoid_"),
    "swiglu": ("silu", "silu_", "glu"),
    "linear": ("mm", "addmm", "bmm", "baddbmm", "_scaled_mm"),
    "softmax": ("_softmax", "_log_softmax"),
    "sum": ("add", "add_", "sub", "sub_", "rsub", "sum", "avg_pool2d", "_adaptive_avg_pool2d", "embedding"),
    "statistics": ("mean", "var", "var_mean", "rsqrt", "logsumexp")}
_ROLE = {name: role for role, names in _ROLES.items() for name in names}


@dataclass
class Visit:
    """The operations of a layer, from when it begins until the next one does.

    Attributes
    ----------
    name
        Of the module.
    parts
        Operations and moved bytes by the kinds of :data:`cdma.workload.networks.captured.KINDS`.
    reads, writes
        Keys of the memory that was read before it was written here, and that was written.
    weights
        Keys of the weights that were read.
    keeps
        What autograd saved, in the caller's terms.
    """

    name: str
    parts: dict[str, list[int]] = field(default_factory=dict)
    reads: dict[Any, None] = field(default_factory=dict)
    writes: dict[Any, None] = field(default_factory=dict)
    weights: dict[Any, None] = field(default_factory=dict)
    keeps: list[Any] = field(default_factory=list)


class Operations(_Mode):
    """Notes all operations within its context.

    Parameters
    ----------
    weights
        Weights of the model.
    where
        Gives the module that an operation counts to.

    Attributes
    ----------
    visits
        In the order of the call.
    roles
        The role of the values in each memory, see :data:`cdma.workload.networks.tensors.ROLES`.
    shapes
        Shape and type of the largest tensor that was seen in each memory.
    computed
        Operations of products by the type of their result.
    """

    def __init__(self, weights: Weights, where: Callable[[], str]) -> None:
        super().__init__()
        self.visits: list[Visit] = []
        self.roles: dict[Any, str] = {}
        self.shapes: dict[Any, tuple[tuple[int, ...], str]] = {}
        self.computed: dict[str, int] = {}
        self._weights, self._where = {key: key for key in weights.storages}, where
        self._quiet = False

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs an operation and notes it."""
        result = operation(*args, **(kwargs or {}))
        if not self._quiet:
            self._note(operation, args, kwargs or {}, result)
        return result

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """A context whose operations are not the model's."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def visit(self) -> Visit:
        """That of the layer that runs."""
        name = self._where()
        if not self.visits or self.visits[-1].name != name:
            self.visits.append(Visit(name))
        return self.visits[-1]

    def _note(self, operation: Any, args: Any, kwargs: Any, result: Any) -> None:
        name = operation.overloadpacket.__name__
        inputs = {storage_of(tensor): tensor for tensor in tensors((args, kwargs)) if tensor.is_floating_point()}
        outputs = {storage_of(tensor): tensor for tensor in tensors(result) if tensor.is_floating_point()}
        changes = operation._schema.is_mutable
        if not outputs or (not changes and outputs.keys() <= inputs.keys()):
            return  # nothing of interest, or a view
        weights = [self._weights[key] for key in inputs if key in self._weights]
        if name in _CASTS and len(weights) == len(inputs) == 1:
            self._weights |= dict.fromkeys(outputs, weights[0])
            return
        visit = self.visit()
        visit.weights |= dict.fromkeys(weights)
        moved = 0
        for key, tensor in inputs.items():
            if key not in self._weights:
                moved += kept_bytes(tensor)
                if key not in visit.writes:
                    visit.reads[key] = None
                self._see(key, tensor)
        written = [(key, tensor) for key, tensor in outputs.items() if key not in self._weights]
        for key, tensor in written:
            moved += kept_bytes(tensor)
            visit.writes[key] = None
            self._see(key, tensor)
        kind, count = _work(operation, name, args, kwargs, result, outputs, self._attends(name, inputs))
        part = visit.parts.setdefault(kind, [0, 0])
        part[0] += count
        part[1] += moved
        if kind != "other":
            dtype = type_of(next(iter(outputs.values())))
            self.computed[dtype] = self.computed.get(dtype, 0) + count
        self._give_roles(name, kind, list(inputs), [key for key, _ in written])

    def _see(self, key: Any, tensor: Any) -> None:
        shape = tuple(tensor.shape)
        if key not in self.shapes or tensor.numel() > torch.Size(self.shapes[key][0]).numel():
            self.shapes[key] = shape, type_of(tensor)

    def _attends(self, name: str, inputs: Any) -> bool:
        """Whether a product reads the result of a softmax, as attention does that is not fused."""
        return name in ("bmm", "baddbmm") and any(self.roles.get(key) == "softmax" for key in inputs)

    def _give_roles(self, name: str, kind: str, inputs: list[Any], written: list[Any]) -> None:
        before = [self.roles.get(key, "input") for key in inputs if key not in self._weights]
        role = _ROLE.get(name)
        if kind == "attention":
            role = "attention"
            self.roles |= {key: role for key in inputs if self.roles.get(key) == "linear"}
        elif kind == "conv":
            role = "linear"
        elif name in _NORMS or (name in ("mul", "mul_") and "statistics" in before):
            role = "norm"
        elif name in ("mul", "mul_") and "swiglu" in before:
            role = "swiglu"
        elif role is None:
            role = before[0] if before else "input"
        for number, key in enumerate(written):
            self.roles[key] = "statistics" if number and (name in _NORMS or kind == "attention") else role


def _work(operation: Any, name: str, args: Any, kwargs: Any, result: Any, outputs: Any,
          attends: bool) -> tuple[str, int]:
    """The kind of an operation, and how many operations of numbers it is."""
    if "scaled_dot_product" in name or "attention_forward" in name:
        query, key, value = args[:3]
        *places, features = query.shape
        rows = torch.Size(places).numel() * key.shape[-2]
        return "attention", 2 * rows * (features + value.shape[-1])
    if operation.overloadpacket in _COUNTS:
        count = int(_COUNTS[operation.overloadpacket](*args, **kwargs, out_val=result))
        if "conv" in name:
            return "conv", count
        return ("attention" if attends else "matmul" if name in ("bmm", "baddbmm") else "fc"), count
    return "other", sum(tensor.numel() for tensor in outputs.values())

