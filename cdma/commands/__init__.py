"""The sub-commands, one per file: ``add`` puts its options into the parser, ``run`` does the work."""

# Commands import what they call inside of their functions: every call imports all commands, and has to start quickly.

from cdma.commands import (
    area,
    bench,
    board,
    capture,
    characterise,
    compress,
    decompress,
    generate,
    info,
    plan,
    results,
    simulate,
    timeline,
    timing,
)

__all__ = ["COMMANDS"]

COMMANDS = (generate, simulate, capture, characterise, timeline, results, plan, area, timing, board, compress,
            decompress, info, bench)
"""The sub-commands in the order of the help."""
