"""A self-test for FPGA boards: test data, both cores, comparison, counters, and a UART that prints the results."""
