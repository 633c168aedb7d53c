"""cocotb tests of the engine, one module per harness; they run inside a simulator that :mod:`verif.runner` starts."""
