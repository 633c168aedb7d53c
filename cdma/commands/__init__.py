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
    gpu,
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

__all__ = ["COMMANDS", "GROUPS"]

GROUPS = {
    "make": (generate, verify, area, timing, board, soc, rules),
    "try": (simulate, train, gpu, capture),
    "decide": (characterise, plan, timeline, alternatives, kvcache, results),
    "files": (compress, decompress, info),
    "maintain": (prove, soak, bench),
}
"""The sub-commands by what they are for, in the order of the help."""

COMMANDS = tuple(command for group in GROUPS.values() for command in group)
"""All of them."""
