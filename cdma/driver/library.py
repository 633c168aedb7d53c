"""The driver in C, compiled once a machine: its structs, and its functions with the types of their arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_uint32, c_uint64, c_ulong, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from cdma.golden.c.compiled import COMPILERS, compiled
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.generate.handover.c_header import c_header
from cdma.hdl.generate.handover.files import DRIVER, driver

__all__ = ["BUFFER", "GO_ON", "PLACE", "READ", "WRITE", "Attributes", "Counters", "Descriptor", "Hooks", "Pages",
           "Result", "Ring", "State", "Window", "WriteBackRing", "function", "text"]

_SOURCE = "driver.c"
_ANSWER = POINTER(c_uint32)
GO_ON = CFUNCTYPE(None, _ANSWER)
PLACE = CFUNCTYPE(None, _ANSWER, c_void_p, c_uint32)
BUFFER = CFUNCTYPE(None, _ANSWER, c_int, c_uint64, c_uint64)
WRITE = CFUNCTYPE(None, _ANSWER, c_uint32, c_uint32)
READ = CFUNCTYPE(None, _ANSWER, c_uint32)


class Hooks(Structure):
    """What the driver calls, and two of its numbers; ``go_on`` says whether a call that polls does so any longer. The
    first argument of all is where the result goes, and behind it a 1 when the hook has come to its end."""

    _fields_ = (("reset_time_limit", c_ulong), ("record_polls", c_ulong), ("write", WRITE), ("read", READ),
                ("go_on", GO_ON), ("clean", PLACE), ("invalidate", PLACE), ("before_read", BUFFER),
                ("before_write", BUFFER), ("after_write", BUFFER), ("engine", c_void_p),
                ("enabled", c_int * 2))


class WriteBackRing(Structure):
    """A ring of completions, which the engine writes over the link: ``write_back_init`` makes it."""

    _fields_ = (("place", c_void_p), ("entries", c_uint32), ("index", c_uint32), ("phase", c_uint32),
                ("misses", c_uint32))


class State(Structure):
    """``struct cdma``: what the engine was built with, and of each direction, offload first: blocking calls so far
    (``calls``) and those without a completion yet (``late``), submitted descriptors whose completion was not returned
    (``pending``), and the write-back ring that completions come from (``records``)."""

    _fields_ = (("bus", POINTER(Hooks)), ("write", c_void_p), ("read", c_void_p), ("polls", c_ulong),
                *((name, c_uint32) for name in ("lanes", "beat_bytes", "link_beat_bytes", "address_bits", "block_bytes",
                                                "queue_depth")),
                *((name, c_int) for name in ("crc", "narrowing", "page_lists", "address_windows",
                                             "attribute_registers", "write_back", "buffer_parity")),
                ("calls", c_uint32 * 2), ("late", c_uint32 * 2), ("pending", c_uint32 * 2),
                ("records", POINTER(WriteBackRing) * 2))


class Ring(Structure):
    """A ring of descriptors, which the engine reads over the link: ``ring_init`` makes it."""

    _fields_ = (("engine", POINTER(State)), ("operation", c_uint32), ("place", c_void_p), ("entries", c_uint32),
                ("tail", c_uint32), ("head", c_uint32))


class Descriptor(Structure):
    """What is asked of the engine."""

    _fields_ = (("operation", c_uint32), ("coding", c_uint32), ("flags", c_uint32), ("tag", c_uint32),
                *((name, c_uint64) for name in ("source", "destination", "raw_bytes", "capacity", "packed_bytes")),
                ("crc", c_uint32), ("pages", c_uint32), ("page_size", c_uint32))


class Result(Structure):
    """A completion; fields are named as those of :class:`cdma.golden.engine.Completion`."""

    _fields_ = (*((name, c_uint32) for name in ("tag", "status", "operation", "lane", "response", "crc", "raw_blocks")),
                *((name, c_uint64) for name in ("bytes_written", "nonzero", "cycles", "place")), ("pages", c_uint32))


class Pages(Structure):
    """Where a block stream is in link memory that has pages: the link address of a list with the address of each, its
    entries, and the logarithm of the bytes of a page, 12 to 21."""

    _fields_ = (("address", c_uint64), ("pages", c_uint32), ("page_size", c_uint32))


class Window(Structure):
    """A part of a memory."""

    _fields_ = (("base", c_uint64), ("limit", c_uint64))


class Attributes(Structure):
    """Attributes of the bursts of a port."""

    _fields_ = tuple((name, c_uint32) for name in ("cache", "prot", "qos", "user"))


class Counters(Structure):
    """What a direction has counted."""

    _fields_ = tuple((name, c_uint64) for name in ("raw_bytes", "packed_bytes", "busy_cycles", "link_busy_cycles",
                                                   "memory_stalls", "buffer_stalls"))


_TENSOR = (c_uint64, c_uint64, c_uint64, c_uint64, c_uint32)
_ENGINE: dict[str, tuple[Any, ...]] = {
    "start": (POINTER(Hooks),), "raised": (c_uint32,), "reset": (), "capacity": (c_uint64,),
    "offload": (*_TENSOR, POINTER(Result)), "prefetch": (*_TENSOR, c_uint32, POINTER(Result)),
    "offload_pages": (c_uint64, POINTER(Pages), c_uint64, c_uint64, c_uint32, POINTER(Result)),
    "prefetch_pages": (POINTER(Pages), c_uint64, c_uint64, c_uint64, c_uint32, c_uint32, POINTER(Result)),
    "submit": (POINTER(Descriptor),), "take_buffers": (POINTER(Descriptor),),
    "poll": (c_uint32, POINTER(Result)), "wait": (c_uint32, POINTER(Result)), "drain": (c_uint32,),
    "abort": (c_uint32,), "isolated": (c_uint32,), "set_time_limit": (c_uint64, c_uint64),
    "enable_interrupts": (c_uint32,), "take_events": (), "take_counters": (c_uint32, POINTER(Counters)),
    "buffer_errors": (c_uint32, POINTER(c_uint32)), "inject_buffer_error": (c_uint32, c_uint32),
    "set_lane_attributes": (POINTER(Attributes),), "set_link_attributes": (POINTER(Attributes),), "locked": (),
    "set_windows": (POINTER(Window), POINTER(Window)), "lock_windows": (),
    "write_back_disable": (c_uint32,), "set_coalescing": (c_uint32, c_uint32, c_uint32),
}
"""Arguments of the functions behind the engine."""

_RINGS: dict[str, tuple[Any, ...]] = {
    "ring_init": (POINTER(Ring), POINTER(State), c_uint32, c_void_p, c_uint64, c_uint32),
    "ring_enable": (POINTER(Ring),), "ring_disable": (POINTER(Ring),),
    "ring_put": (POINTER(Ring), POINTER(Descriptor)),
    "write_back_init": (POINTER(WriteBackRing), POINTER(State), c_uint32, c_void_p, c_uint64, c_uint32),
}
"""Arguments of the functions that take a ring first."""

_RESULTS = {"capacity": c_uint64, "take_events": c_uint32, "take_buffers": None}


@cache
def _library() -> ctypes.CDLL:
    header = c_header(EngineConfig())    # but for what was built, which the driver does not use, it is that of all
    source = Path(__file__).with_name(_SOURCE).read_text(encoding="utf-8")
    library = compiled("driver", {"regs.h": header, DRIVER: driver(), _SOURCE: source}, "-std=gnu99", "-O2")
    if library is None:
        raise ValueError(f"the driver is in C and needs a compiler: none of {', '.join(COMPILERS)} compiles it")
    for table, first in ((_ENGINE, (POINTER(State),)), (_RINGS, ())):
        for name, arguments in table.items():
            found = library[f"cdma_{name}"]
            found.argtypes, found.restype = (*first, *arguments), _RESULTS.get(name, c_int)
            setattr(library, name, found)
    library.cdma_error_text.restype = c_char_p
    return library


def function(name: str) -> Callable[..., int]:
    """A function of the driver, by its name without ``cdma_``.

    Raises
    ------
    ValueError
        If there is no C compiler.
    """
    return getattr(_library(), name)


def text(error: int) -> str:
    """The sentence of the driver for a code or a status."""
    return _library().cdma_error_text(error).decode()
