"""Area of cores and engines, in gates, cells of a library or on an FPGA."""
