"""The clock of cores and engines in the cells of a library."""
