"""Blocks: headers, their parser and their check, and the choice between coded and raw."""
