"""Tests of the link side, on Amaranth's simulator."""
