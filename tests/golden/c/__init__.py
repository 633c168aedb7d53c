"""Tests of golden.c."""
