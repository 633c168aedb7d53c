"""Tests of hdl.codec."""
