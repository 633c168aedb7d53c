"""The SoC of hdl/litex, simulated while a RISC-V core runs the firmware."""
