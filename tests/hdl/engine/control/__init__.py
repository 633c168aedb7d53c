"""Tests of control: the register table, what the bus answers, descriptors, rings and counters."""
