"""The engine: the data paths of both directions, lanes, link, control and AXI ports."""
