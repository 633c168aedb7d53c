"""Tests of cdma.golden.c."""
