"""The model: plain reference, fast codec, and the engine as a function; written from the format, not the RTL."""
