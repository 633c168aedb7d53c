"""Narrowing: float32 values rounded to 16 bits before they are coded, and restored."""
