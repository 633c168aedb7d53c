"""Tests of cdma.golden.speeds."""
