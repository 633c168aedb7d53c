"""cocotb tests of the engine, one module per harness, run in a simulator that :mod:`cdma.verif.common.runner`
starts."""
