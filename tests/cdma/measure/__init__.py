"""Tests of what commands measure and compare."""
