"""cocotb tests of the engine, one module per harness; they run in a simulator (:mod:`cdma.verif.common.runner`)."""
