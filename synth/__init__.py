"""Synthesis: area and timing of cores and engines, place and route, board images, and the tools for them."""

if __name__ != "cdma.synth":
    raise ImportError("synth is a part of the package cdma: write cdma.synth, as in 'from cdma import synth'")
