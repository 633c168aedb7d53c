"""Place and route of designs and of an engine's units on an ECP5."""
