"""The tools that are run, Yosys, OpenSTA and nextpnr, and the files they read and write."""
