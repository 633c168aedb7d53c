"""Configurations of engines beside the presets."""

from __future__ import annotations

from cdma.hdl.config.engine import SWITCHES, EngineConfig
from tests.verif.conftest import FULL

__all__ = ["EVERY", "LEAST", "SWEEP", "TWO_CLOCKS"]

_FEWEST = 2
EVERY = [
    EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=64, block_bytes=512, buffer_bytes=1024, codings=("zvc8",),
                 pipeline="fast", transfers_in_flight=32, burst_beats=16, user_bits=3, lane_user=5, lane_prot=2,
                 lane_qos=9, link_cache=0b1111, link_user=2, link_qos=1, link_read_ids=4,
                 **{**SWITCHES, "narrowing": False}),
    EngineConfig(lanes=3, beat_bytes=32, link_beat_bytes=64, block_bytes=1024, buffer_bytes=4096,
                 codings=("zvc16", "zvc32", "bfloat16"), narrowing=True, memories="wrapped", transfers_in_flight=1,
                 outstanding_reads=1, lane_cache=0b0111, link_prot=3, link_qos=15, buffer_parity=True),
    EngineConfig(lanes=1, beat_bytes=32, link_beat_bytes=32, block_bytes=512, buffer_bytes=2048, address_bits=64,
                 pipeline="fast", transfers_in_flight=2, burst_beats=32, user_bits=16, link_user=0xBEEF,
                 safe_writes=True, page_lists=True, address_windows=True, write_back=True, link_clock="separate",
                 link_read_ids=2),
    EngineConfig(lanes=3, beat_bytes=64, link_beat_bytes=64, block_bytes=1024, buffer_bytes=4096,
                 codings=("zvc8", "zvc16", "bfloat16"), link_read_ids=16),
    EngineConfig(lanes=5, beat_bytes=16, link_beat_bytes=32, block_bytes=2048, buffer_bytes=6144, crc=False,
                 outstanding_reads=1, transfers_in_flight=3, page_lists=True,
                 write_back=True),
    EngineConfig(lanes=1, beat_bytes=64, link_beat_bytes=64, block_bytes=32768, buffer_bytes=65536,
                 codings=("zvc16", "zvc32", "float32"), transfers_in_flight=7, burst_beats=32, page_lists=True),
    EngineConfig(lanes=2, beat_bytes=32, link_beat_bytes=64, block_bytes=8192, buffer_bytes=16384,
                 codings=("zvc8", "zvc32"), crc=False, attribute_registers=True, link_clock="separate"),
    EngineConfig(lanes=4, beat_bytes=16, link_beat_bytes=16, block_bytes=16384, buffer_bytes=49152, queue_depth=64,
                 burst_beats=128, outstanding_reads=32, write_back=True),
    EngineConfig(lanes=4, beat_bytes=64, link_beat_bytes=64, block_bytes=512, buffer_bytes=2048, address_bits=32,
                 outstanding_reads=32, address_windows=True),
    EngineConfig(lanes=6, beat_bytes=16, link_beat_bytes=64, block_bytes=1024, buffer_bytes=2048,
                 codings=("zvc16", "bfloat16"), pipeline="fast"),
    EngineConfig(lanes=7, beat_bytes=32, link_beat_bytes=32, block_bytes=512, buffer_bytes=1024, codings=("zvc32",),
                 queue_depth=16),
    EngineConfig(lanes=8, beat_bytes=16, link_beat_bytes=32, block_bytes=512, buffer_bytes=1536, address_bits=48,
                 burst_beats=16, outstanding_reads=1),
    EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=16, block_bytes=4096, buffer_bytes=8192, narrowing=True,
                 codings=("zvc8", "zvc16", "zvc32"), safe_writes=True),
    EngineConfig(lanes=4, beat_bytes=64, link_beat_bytes=64, block_bytes=2048, buffer_bytes=8192, narrowing=True,
                 crc=False, pipeline="fast", burst_beats=16, safe_writes=True, link_clock="separate",
                 buffer_parity=True),
    EngineConfig(lanes=16, beat_bytes=16, link_beat_bytes=16, block_bytes=512, buffer_bytes=1024, outstanding_reads=2,
                 page_lists=True),
]
"""The first few are in every run, all of them in the full regression. The first one has all options but a clock of its
own for the link. Any two options are both on in one of them, both off in another, and each is on without the other."""

SWEEP = {f"sweep{number}": config.replace(name=f"cdma_sweep{number}")
         for number, config in enumerate(EVERY if FULL else EVERY[:_FEWEST])}
"""By name."""

LEAST = EngineConfig(name="cdma_least", lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=1024, buffer_bytes=1280,
                     codings=("zvc16",), transfers_in_flight=1, outstanding_reads=1, burst_beats=16, queue_depth=8,
                     link_clock="separate", **SWITCHES)
"""All options, one lane, and one transfer and one burst in flight."""

TWO_CLOCKS = EngineConfig(name="cdma_clocks", lanes=2, beat_bytes=16, link_beat_bytes=16, block_bytes=512,
                          buffer_bytes=1024, codings=("zvc32",), link_clock="separate", link_read_ids=9)
"""A small engine whose link has a clock of its own."""
