"""cocotb tests of the engine, one module per harness, run in a simulator that :mod:`verif.common.runner` starts."""
