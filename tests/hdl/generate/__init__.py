"""Tests of hdl.generate."""
