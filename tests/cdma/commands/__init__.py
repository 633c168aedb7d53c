"""Tests of the commands, one file each."""
