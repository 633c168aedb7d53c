"""Lanes: all that stands beside one memory controller, for offload and for prefetch."""
