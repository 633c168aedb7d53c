"""Traces for the protocol rules: legal ones, and for each rule one that breaks it and no other rule.

A trace is a list of cycles, a cycle the signals that are not at rest in it. Every trace starts behind a reset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CASES", "IDLE", "INSTANCES", "LEGAL", "WIDTHS", "Case"]

Cycle = dict[str, Any]
Trace = list[Cycle]

_ADDRESS = {"id": 2, "addr": 32, "len": 8, "size": 3, "burst": 2, "lock": 1, "cache": 4, "prot": 3, "qos": 4,
            "region": 4, "user": 1, "valid": 1, "ready": 1}

WIDTHS = {
    "aw": _ADDRESS,
    "w": {"data": 32, "strb": 4, "last": 1, "user": 1, "valid": 1, "ready": 1},
    "b": {"id": 2, "resp": 2, "user": 1, "valid": 1, "ready": 1},
    "ar": _ADDRESS,
    "r": {"id": 2, "data": 32, "resp": 2, "last": 1, "user": 1, "valid": 1, "ready": 1},
    "t": {"data": 32, "keep": 4, "strb": 4, "last": 1, "id": 2, "dest": 2, "user": 1, "valid": 1, "ready": 1},
}
"""Bits of the signals of each channel, without its letters."""

IDLE: Cycle = {f"{channel}{name}": 0 for channel, names in WIDTHS.items() for name in names} | {"aresetn": 1}
"""Signals at rest."""

_FULL = {"ID_WIDTH": 2, "MAX_OUTSTANDING": 2}
_IDS = {"ID_WIDTH": 2, "DEST_WIDTH": 2}
INSTANCES: dict[str, tuple[str, dict[str, int], tuple[str, ...]]] = {
    "write": ("axi4_write.v", _FULL, ("aw", "w", "b")),
    "write_off": ("axi4_write.v", {"ID_WIDTH": 2, "ASSERT_MANAGER": 2, "ASSERT_SUBORDINATE": 2}, ("aw", "w", "b")),
    "read": ("axi4_read.v", _FULL, ("ar", "r")),
    "lite": ("axi4_lite.v", {"MAX_OUTSTANDING": 2}, ("aw", "w", "b", "ar", "r")),
    "narrow": ("axi4_lite.v", {"DATA_WIDTH": 16}, ()),
    "stream": ("axi4_stream.v", _IDS | {"NO_EMPTY": 1, "CONTIGUOUS": 1}, ("t",)),
    "stream_plain": ("axi4_stream.v", _IDS | {"ASSERT_MANAGER": 0}, ("t",)),
}
"""Instances of the rules: file, parameters, channels. A trace is seen by those of its protocol only, whose names
begin with the same word."""


@dataclass(frozen=True)
class Case:
    """A trace that breaks a rule: which instance reports it first, and in which cycle of the trace."""

    rule: str
    instance: str
    trace: Trace
    at: int


def aw(**fields: int | str) -> Cycle:
    """An address of a write that is taken: one word at 0, unless said otherwise."""
    return _channel("aw", {"size": 2, "burst": 1, "valid": 1, "ready": 1} | fields)


def ar(**fields: int | str) -> Cycle:
    """The same of a read."""
    return _channel("ar", {"size": 2, "burst": 1, "valid": 1, "ready": 1} | fields)


def w(**fields: int | str) -> Cycle:
    """The last word of a burst, with all bytes."""
    return _channel("w", {"strb": 15, "last": 1, "valid": 1, "ready": 1} | fields)


def b(**fields: int | str) -> Cycle:
    """A response to a write."""
    return _channel("b", {"valid": 1, "ready": 1} | fields)


def r(**fields: int | str) -> Cycle:
    """The last word of a read."""
    return _channel("r", {"last": 1, "valid": 1, "ready": 1} | fields)


def t(**fields: int | str) -> Cycle:
    """The last beat of a packet, with all bytes."""
    return _channel("t", {"keep": 15, "strb": 15, "last": 1, "valid": 1, "ready": 1} | fields)


def _channel(name: str, fields: dict[str, int | str]) -> Cycle:
    return {f"{name}{field}": value for field, value in fields.items()}


_RESET: Cycle = {"aresetn": 0}
_FIXED, _WRAP = 0, 2

LEGAL: dict[str, Trace] = {
    "write": [
        aw(), w(), b(),
        aw() | w(), b() | aw(id=1) | w(), b(id=1),
        aw(ready=0), aw(ready=0) | w(ready=0), aw() | w(ready=0), w() | b(valid=0), b(ready=0), b(),
        # Responses in any order but that of one identifier; as many open as there may be.
        aw(id=1) | w(), aw(id=2) | w(), b(id=2), b(id=1) | aw(id=3), w(), b(id=3),
        # Data first: a whole burst, and a part of one; the address waits beside data.
        w(last=0), w(), aw(len=1), b(), w(last=0), w(last=0), aw(len=2) | w(), b(),
        w(), w(), aw(id=1), aw(id=2), b(id=2), b(id=1), w() | aw(ready=0), aw(), b(),
        # Bytes of narrow, unaligned, fixed and wrapping bursts.
        aw(addr=1, size=0, len=3), w(strb=2, last=0), w(strb=4, last=0), w(strb=8, last=0), w(strb=1), b(),
        aw(addr=3, len=1), w(strb=8, last=0), w(), b(), aw(addr=6, size=1, burst=_WRAP, len=1), w(strb=12, last=0),
        w(strb=3), b(), aw(addr=5, size=1, burst=_FIXED, len=1), w(strb=2, last=0), w(strb=2), b(),
        aw(addr=0x38, burst=_WRAP, len=15), *[w(last=0)] * 15, w(), b(),
        # To the end of 4 KiB; exclusive; the longest.
        aw(addr=0xFF8, len=1), w(last=0), w(), b(), aw(addr=0xFFF, len=0), w(strb=8), b(),
        aw(addr=0x1F8, len=1, lock=1, cache=2), w(last=0), w(), b(resp=1), aw(lock=1), w(), b(resp=0),
        aw(addr=0x80, len=15, size=2, lock=1), *[w(last=0)] * 15, w(), b(resp=1),
        aw(len=255), *[w(last=0, strb=0)] * 255, w(), b(resp=2),
        # A reset ends everything.
        aw(id=1), _RESET, {}, aw(), w(), b(), aw(ready=0, addr=4) | _RESET, _RESET,
    ],
    "read": [
        ar(), r(), ar(len=1, ready=0), ar(len=1), r(last=0), r(ready=0, data=7), r(data=7),
        # Beats of two identifiers mixed; the same identifier in order; as many open as there may be.
        ar(id=1, len=1), ar(id=2, len=2), r(id=2, last=0), r(id=1, last=0), r(id=2, last=0), r(id=1), r(id=2),
        ar(id=1), ar(id=1, len=1), r(id=1) | ar(id=3), r(id=1, last=0), r(id=3), r(id=1),
        ar(addr=4, burst=_WRAP, len=3), *[r(last=0)] * 3, r(),
        ar(addr=0x3D, burst=_FIXED, len=15), *[r(last=0)] * 15, r(),
        ar(addr=0xC00, len=255), *[r(last=0)] * 255, r(), ar(addr=0x40, len=15, lock=1), *[r(last=0, resp=1)] * 15,
        r(resp=1), ar(lock=1), r(), ar(cache=15), r(resp=3), ar(id=1), _RESET, {}, ar(id=2), r(id=2),
    ],
    "lite": [
        aw(), w(), b(), w(), aw(), b(), aw() | w(), b() | aw() | w(), b(), aw(ready=0), aw(), w(ready=0), w(),
        b(ready=0, resp=2), b(resp=2), ar(), ar(), r(), r(resp=3), ar(ready=0), ar(), r(ready=0), r(), aw(), _RESET,
        {}, aw(), w(), b(),
    ],
    "stream": [
        t(), t(ready=0), t(), t(last=0), t(keep=1, strb=0), t(keep=7, strb=5), t(last=0), t(keep=0, strb=0),
        t(valid=0), t(ready=0, id=1), t(id=1), t(ready=0), _RESET, {}, t(),
    ],
}
"""A trace for each protocol that breaks no rule."""


def _waits(channel: Cycle, before: Trace, prefix: str) -> dict[str, tuple[Trace, int]]:
    """What breaks the handshake of a channel: without valid, with other contents, in reset, with X."""
    held = channel | {f"{prefix}ready": 0}
    name = {"w": "strb", "t": "keep", "b": "resp", "r": "resp"}.get(prefix, "prot")
    user = {"b": "resp", "r": "data", "w": "data", "t": "dest"}.get(prefix, "addr")
    at = len(before)
    other = held | {f"{prefix}{user}": 2 if prefix in "br" else 8}
    if prefix == "t":
        other = held | {"tdest": 2}
    return {
        "VALID_STABLE": ([*before, held, {}], at + 1),
        "PAYLOAD_STABLE": ([*before, held, other], at + 1),
        "KNOWN": ([*before, held | {f"{prefix}{name}": "X"}, channel], at),
        "READY_KNOWN": ([*before, {f"{prefix}ready": "X"}], at),
        "RESET": ([_RESET, _RESET | {f"{prefix}valid": 1}, _RESET], 1),
    }


_BEFORE: dict[str, Trace] = {"aw": [], "w": [], "b": [aw() | w()], "ar": [], "r": [ar()], "t": []}
_TAKEN = {"aw": aw(), "w": w(), "b": b(), "ar": ar(), "r": r(), "t": t()}


def _handshakes() -> list[Case]:
    made = []
    for prefix, before in _BEFORE.items():
        for kind, (trace, at) in _waits(_TAKEN[prefix], before, prefix).items():
            if prefix == "t":
                made.append(Case(f"AXIS_{kind}", "stream", trace, at))
                continue
            name = f"{prefix.upper()}_{kind}"
            made.append(Case(f"AXI4_{name}", "read" if prefix in ("ar", "r") else "write", trace, at))
            made.append(Case(f"AXI4L_{name}", "lite", trace, at))
    return made


def _requests() -> list[Case]:
    made = []
    wrong: dict[str, Cycle] = {
        "SIZE": {"size": 3, "addr": 0}, "BURST": {"burst": 3}, "FIXED_LENGTH": {"burst": _FIXED, "len": 16},
        "WRAP_LENGTH": {"burst": _WRAP, "len": 2}, "WRAP_ALIGNED": {"burst": _WRAP, "len": 3, "addr": 2},
        "BOUNDARY": {"addr": 0xFFC, "len": 1}, "CACHE": {"cache": 4}, "LOCK_LENGTH": {"size": 0, "len": 31, "lock": 1},
        "LOCK_BYTES": {"len": 2, "lock": 1}, "LOCK_ALIGNED": {"addr": 4, "len": 1, "lock": 1},
    }
    for prefix, request, instance in (("AW", aw, "write"), ("AR", ar, "read")):
        made += [Case(f"AXI4_{prefix}_{name}", instance, [request(**fields)], 0) for name, fields in wrong.items()]
        made.append(Case(f"AXI4_{prefix}_OUTSTANDING", instance, [request()] * 3, 2))
        made.append(Case(f"AXI4L_{prefix}_OUTSTANDING", "lite", [request()] * 3, 2))
    return made


CASES: list[Case] = [
    *_handshakes(), *_requests(),
    Case("AXI4_W_LAST", "write", [aw(len=1), w()], 1),
    Case("AXI4_W_LAST", "write", [aw(), w(last=0)], 1),
    Case("AXI4_W_LAST", "write", [*[w(last=0)] * 256, w()], 256),
    Case("AXI4_W_LAST_AHEAD", "write", [w(last=0), w(), aw()], 2),
    Case("AXI4_W_LAST_AHEAD", "write", [w(last=0), aw()], 1),
    Case("AXI4_W_LAST_AHEAD", "write", [aw(ready=0) | w(), aw(ready=0) | w(last=0), aw(ready=0) | w(), aw(), aw()], 4),
    Case("AXI4_W_LANES", "write", [aw(addr=1, size=0), w(strb=4)], 1),
    Case("AXI4_W_LANES", "write", [aw(addr=1) | w()], 0),
    Case("AXI4_W_LANES", "write", [aw(size=1, len=2), w(strb=3, last=0), w(strb=12, last=0), w(strb=12)], 3),
    Case("AXI4_W_LANES", "write", [aw(addr=2, size=1, burst=_WRAP, len=1), w(strb=12, last=0), w(strb=12)], 2),
    Case("AXI4_W_LANES", "write", [aw(addr=2, size=1, burst=_FIXED, len=1), w(strb=12, last=0), w(strb=3)], 2),
    Case("AXI4_W_OUTSTANDING", "write", [w()] * 3, 2),
    Case("AXI4_B_REQUESTED", "write", [b()], 0),
    Case("AXI4_B_REQUESTED", "write", [aw() | w(), b(id=1)], 1),
    Case("AXI4_B_REQUESTED", "write", [aw() | w(), b(), b()], 2),
    Case("AXI4_B_AFTER_DATA", "write", [aw(len=1), w(last=0), b()], 2),
    Case("AXI4_B_AFTER_DATA", "write", [aw(id=1), aw(id=2) | w(), b(id=2)], 2),
    Case("AXI4_B_EXOKAY", "write", [aw() | w(), b(resp=1)], 1),
    Case("AXI4_R_REQUESTED", "read", [r()], 0),
    Case("AXI4_R_REQUESTED", "read", [ar(id=1), r(id=2)], 1),
    Case("AXI4_R_REQUESTED", "read", [ar(), r(), r()], 2),
    Case("AXI4_R_LAST", "read", [ar(len=1), r()], 1),
    Case("AXI4_R_LAST", "read", [ar(), r(last=0)], 1),
    Case("AXI4_R_LAST", "read", [ar(len=1), ar(), r()], 2),
    Case("AXI4_R_EXOKAY", "read", [ar(), r(resp=1)], 1),
    Case("AXI4_R_EXOKAY", "read", [ar(id=1, lock=1), ar(id=2), r(id=2, resp=1)], 2),
    Case("AXI4L_WIDTH", "narrow", [{}], 0),
    Case("AXI4L_W_OUTSTANDING", "lite", [w()] * 3, 2),
    Case("AXI4L_B_REQUESTED", "lite", [aw(), b()], 1),
    Case("AXI4L_B_REQUESTED", "lite", [w(), b()], 1),
    Case("AXI4L_B_REQUESTED", "lite", [aw() | w(), b(), b()], 2),
    Case("AXI4L_B_EXOKAY", "lite", [aw() | w(), b(resp=1)], 1),
    Case("AXI4L_R_REQUESTED", "lite", [r()], 0),
    Case("AXI4L_R_EXOKAY", "lite", [ar(), r(resp=1)], 1),
    Case("AXIS_KEEP_STROBE", "stream_plain", [t(keep=3, strb=5)], 0),
    Case("AXIS_NO_EMPTY", "stream", [t(keep=0, strb=0)], 0),
    Case("AXIS_NO_EMPTY", "stream", [t(), t(keep=0, strb=0)], 1),
    Case("AXIS_CONTIGUOUS", "stream", [t(keep=5, strb=5)], 0),
    Case("AXIS_CONTIGUOUS", "stream", [t(keep=7, strb=7, last=0)], 0),
]
"""Traces that break a rule, at least one for each."""
