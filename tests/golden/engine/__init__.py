"""Tests of cdma.golden.engine."""
