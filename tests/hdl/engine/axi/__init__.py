"""Tests of the AXI masters, against a memory that watches the protocol's rules."""
