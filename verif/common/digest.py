"""The digest of the RTL: it changes when the hardware may change, and not with a comment or a docstring."""

from __future__ import annotations

import ast
import hashlib
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["ROOT", "rtl_digest"]

ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds the packages ``hdl`` and ``verif``."""

_NO_RTL = ("hdl/generate", "hdl/litex", "hdl/selftest")
_TEXT_ONLY = ("about",)


def rtl_digest(root: Path = ROOT) -> str:
    """Hash the sources of the hardware: 16 hexadecimal digits.

    What is hashed: the syntax trees of the Python files in ``hdl`` without docstrings, and the values of its presets
    without their descriptions. What writes files beside the Verilog (``hdl/generate``), the SoC (``hdl/litex``) and the
    self-test images (``hdl/selftest``) are left out. The digest is the same for all versions of Python.

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
