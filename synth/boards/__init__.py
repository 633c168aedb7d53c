"""The self-test on FPGA boards: pins and clocks by board, files for the tools, and bitstreams."""
