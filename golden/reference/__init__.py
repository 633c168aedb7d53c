"""The formats in plain Python, from docs/formats.md alone: slow and short; the fast code is tested against it."""
