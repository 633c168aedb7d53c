"""AXI4 and AXI4-Lite: signatures, splitter, masters, arbiters, order of reads, time limit, registers' port."""
