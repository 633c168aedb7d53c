"""Tests of hdl.common."""
