"""Serving decoders whose KV caches do not fit the device: what the link carries, and what coding saves."""
