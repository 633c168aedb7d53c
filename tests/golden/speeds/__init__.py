"""Tests of golden.speeds."""
