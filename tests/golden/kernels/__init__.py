"""Tests of golden.kernels."""
