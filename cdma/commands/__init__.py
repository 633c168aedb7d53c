"""The sub-commands, one per file: ``add`` puts its options into the parser, ``run`` does the work."""

# Commands import inside their functions, because every call imports all commands and must start quickly.

from cdma.commands import (
    alternatives,
    area,
    bench,
    board,
    capture,
    characterise,
    compress,
    decompress,
    generate,
    info,
    kvcache,
    plan,
    prove,
    results,
    rules,
    simulate,
    soak,
    soc,
    timeline,
    timing,
    train,
    verify,
)

__all__ = ["COMMANDS"]

COMMANDS = (generate, simulate, verify, capture, train, characterise, timeline, alternatives, kvcache, results, plan,
            area, timing, board, soc, rules, prove, soak, compress, decompress, info, bench)
"""The sub-commands in the order of the help."""
