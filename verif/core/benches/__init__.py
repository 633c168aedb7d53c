"""cocotb tests, one module per kind of bench; they run inside a simulator that :mod:`verif.common.runner` starts."""
