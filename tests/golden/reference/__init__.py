"""Tests of golden.reference."""
