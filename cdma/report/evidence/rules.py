"""The generated tables of docs/rules.md, from the Verilog of the rules."""

from __future__ import annotations

from cdma.report.parts import Part, Table
from cdma.verif.rules.catalogue import rules

__all__ = ["rules_parts"]


def rules_parts() -> list[Part]:
    """A table for each module, and how many rules there are."""
    found = rules()
    modules = list(dict.fromkeys(rule.module for rule in found))
    parts: list[Part] = [f"{len(found)} rules in {len(modules)} modules."]
    for module in modules:
        parts.append(f"**`{module}`**")
        parts.append(Table(["rule", "kept by", "what it demands", "from", "simulators"], [
            [f"`{rule.name}`", rule.side, rule.text, rule.clause, "four-state" if rule.four_state else "all"]
            for rule in found if rule.module == module], left=(0, 1, 2, 3, 4)))
    return parts
