"""Tests of cdma.golden.codec."""
