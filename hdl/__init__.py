"""Amaranth hardware: codec, engine, common components, configurations, Verilog emission, and a self-test for boards."""

if __name__ != "cdma.hdl":
    raise ImportError("hdl is a part of the package cdma: write cdma.hdl, as in 'from cdma import hdl'")
