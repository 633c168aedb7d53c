"""cocotb tests of the cores, one module per kind; they run inside a simulator (:mod:`cdma.verif.common.runner`)."""
