"""The engine as a function: descriptors and memory images in, memory images and completions out."""

from golden.engine.engine import Engine, Parameters
from golden.engine.memory import Fault, Memory
from golden.engine.records import RECORD_BYTES, Completion, Descriptor
from golden.engine.status import Operation, Response, Status

__all__ = ["RECORD_BYTES", "Completion", "Descriptor", "Engine", "Fault", "Memory", "Operation", "Parameters",
           "Response", "Status"]
