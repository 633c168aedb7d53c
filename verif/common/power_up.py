"""Registers of generated Verilog that start with random values, as those of silicon do."""

from __future__ import annotations

import re

import numpy as np

__all__ = ["random_registers"]

_REGISTER = re.compile(r"^(  reg (?:\[(\d+):0\] )?(?:\\\S+ |\w+));$", re.MULTILINE)


def random_registers(text: str, seed: int) -> str:
    """Generated Verilog with a random initial value for each register; the words of memories stay unknown.

    Simulators with X start registers at X. That can hide a fault that a wrong value would show, because ``if`` treats X
    as false. Verilator starts registers at random by itself.

    Parameters
    ----------
    text : str
        What :func:`cdma.hdl.generate.backend.verilog_text` wrote: every ``reg`` is a register or a memory.
    seed : int
        Of the values.

    Raises
    ------
    ValueError
        If there is no register.
    """
    rng = np.random.default_rng(seed)

    def start(found: re.Match[str]) -> str:
        bits = int(found[2] or 0) + 1
        return f"{found[1]} = {bits}'b{''.join(rng.choice(['0', '1'], bits))};"

    text, count = _REGISTER.subn(start, text)
    if not count:
        raise ValueError("there is no register that could start with a random value")
    return text
