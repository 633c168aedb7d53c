"""Tests of hdl.config."""
