"""Units of the hardware on Amaranth's simulator; the cores as Verilog are tested in tests/verif."""
