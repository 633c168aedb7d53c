"""A generated design taken apart into the units of an engine."""
