"""Verification: cocotb benches for the generated Verilog, the runner that starts them, and what they measure."""

if __name__ != "cdma.verif":
    raise ImportError("verif is a part of the package cdma: write cdma.verif, as in 'from cdma import verif'")
