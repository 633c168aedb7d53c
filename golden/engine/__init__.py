"""The engine as a function: descriptors, memory images and faults in, memory images and correct completions out."""

from cdma.golden.engine.engine import Engine, Silence
from cdma.golden.engine.memory import BurstError, Fault, Memory
from cdma.golden.engine.pages import ENTRY_BYTES, PAGE_SIZES
from cdma.golden.engine.parameters import LENGTH_BITS, Parameters
from cdma.golden.engine.records import RECORD_BYTES, Completion, Descriptor
from cdma.golden.engine.status import Operation, Response, Status
from cdma.golden.engine.windows import OPEN, WINDOW_BYTES, Window, Windows
from cdma.golden.engine.write_back import RecordReader, RecordWriter, pack_record, unpack_record

__all__ = ["ENTRY_BYTES", "LENGTH_BITS", "OPEN", "PAGE_SIZES", "RECORD_BYTES", "WINDOW_BYTES", "BurstError",
           "Completion", "Descriptor", "Engine", "Fault", "Memory", "Operation", "Parameters", "RecordReader",
           "RecordWriter", "Response", "Silence", "Status", "Window", "Windows", "pack_record", "unpack_record"]
