"""Tests of golden.engine."""
