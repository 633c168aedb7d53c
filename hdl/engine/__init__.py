"""The engine: data paths of both directions, lanes, link, control, AXI masters, and the transfers they exchange."""
