"""Tests of hdl.codec.payload."""
