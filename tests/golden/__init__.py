"""Tests of the golden model, against a slow one written straight from the format."""
