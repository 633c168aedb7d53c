"""The model: plain reference, fast codec, and the engine as a function; written from the format, not the RTL."""

if __name__ != "cdma.golden":
    raise ImportError("golden is a part of the package cdma: write cdma.golden, as in 'from cdma import golden'")
