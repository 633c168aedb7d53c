"""Tests of golden.codec."""
