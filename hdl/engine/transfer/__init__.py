"""Layouts that the rooms of the engine share: requests, results, status, events, streams, and the interleave."""
