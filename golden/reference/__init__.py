"""The formats in plain Python, written from docs/formats.md alone: slow, short, and the judge of the fast code."""
