"""The engine as a function: descriptors, memory images and faults in, memory images and correct completions out."""

from golden.engine.engine import Engine, Silence
from golden.engine.memory import BurstError, Fault, Memory
from golden.engine.pages import ENTRY_BYTES, PAGE_SIZES
from golden.engine.parameters import LENGTH_BITS, Parameters
from golden.engine.records import RECORD_BYTES, Completion, Descriptor
from golden.engine.status import Operation, Response, Status
from golden.engine.windows import OPEN, WINDOW_BYTES, Window, Windows
from golden.engine.write_back import RecordReader, RecordWriter, pack_record, unpack_record

__all__ = ["ENTRY_BYTES", "LENGTH_BITS", "OPEN", "PAGE_SIZES", "RECORD_BYTES", "WINDOW_BYTES", "BurstError",
           "Completion", "Descriptor", "Engine", "Fault", "Memory", "Operation", "Parameters", "RecordReader",
           "RecordWriter", "Response", "Silence", "Status", "Window", "Windows", "pack_record", "unpack_record"]
