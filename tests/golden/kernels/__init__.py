"""Tests of cdma.golden.kernels."""
