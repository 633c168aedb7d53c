"""cocotb tests, one module per kind of bench; they run inside a simulator that :mod:`cdma.verif.common.runner`
starts."""
