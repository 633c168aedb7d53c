"""What logic is mapped to: a table of generic gates, cell libraries, FPGA primitives."""
