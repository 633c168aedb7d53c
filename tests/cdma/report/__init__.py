"""Tests of pages and plots."""
