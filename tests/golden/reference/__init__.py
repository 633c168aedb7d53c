"""Tests of cdma.golden.reference."""
