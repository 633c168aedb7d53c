"""Narrowing: float32 values are rounded to bfloat16 or float16 before coding, and widened again after decoding."""
