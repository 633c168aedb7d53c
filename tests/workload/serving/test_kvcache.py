"""KV caches worked out on paper, and what must hold of all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.workload.serving.kvcache import Cache, Decoder, kv_cache, load_decoder
from cdma.workload.serving.ratios import kv_ratio
from cdma.workload.timeline.engine_share import Reached, constant
from cdma.workload.timeline.schedule import Engine

# 4 blocks; a key of a token has 8 values of 2 bytes, so keys and values have 4 x 2 x 16 = 128 bytes; weights 1,000.
SMALL = Decoder("small", "a test", "bfloat16", 4, 32, 8, 500, 1000.0)
ENGINE = Engine(64, 64, 64, 1000.0, constant(1.0))
# 10 sequences of 100 tokens: 128,000 bytes; buffers of two of four layers 64,000; a device of 97,000 keeps 32,000.
CACHE = Cache(SMALL, 100, 10, 1e9, 1e6, 97_000, 1000.0, 16, 4096)


def test_by_hand() -> None:
    assert (SMALL.token_bytes, SMALL.weight_bytes, CACHE.whole_bytes) == (128, 1000, 128_000)
    assert (CACHE.room, CACHE.away, CACHE.block_bytes) == (32_000, 96_000, 256)
    fits, (memory, offload, engine) = kv_cache(CACHE, ENGINE, 2.0)
    # (97,000 - 1,000) / 128 = 750 tokens, 7 contexts of 100.
    assert (fits["sequences"], fits["longest"], fits["away"]) == (7, 750, 0.75)
    # Memory: 1,000 + 128,000 bytes at 1e6 a second; operations: 10 x 1,000 + 4 x 4 x 32 x 100 x 10 at 1e9 are less.
    assert memory["step_ms"] == pytest.approx(129)
    assert offload["compute_ms"] == pytest.approx(129 + 96)
    assert offload["link_ms"] == offload["step_ms"] == pytest.approx(96_000)
    assert engine["step_ms"] == pytest.approx(48_000)
    assert offload["tokens_per_s"] == pytest.approx(10 / 96)
    # A block of 256 bytes takes a whole page of 4,096 either way: 375 of them.
    assert offload["host_gb"] == engine["host_gb"] == pytest.approx(375 * 4096 / 1e9)
    assert (offload["page_waste"], engine["page_waste"]) == (pytest.approx(15 / 16), pytest.approx(31 / 32))
    assert (offload["back_ms"], engine["back_ms"]) == (pytest.approx(12_800), pytest.approx(6_400))
    # 100 tokens: 1,000 operations each, and 2 x 4 x 32 x 100^2 of causal attention.
    assert fits["again_ms"] == pytest.approx((100_000 + 2_560_000) / 1e6)


def test_start_is_paid_once_for_each_layer() -> None:
    slow = Engine(64, 64, 64, 1000.0, lambda direction, balance: Reached(1.0, 5e9))  # 5 s
    engine = kv_cache(CACHE, slow, 2.0)[1][2]
    assert engine["link_ms"] == pytest.approx(48_000 + 4 * 5000)


def test_what_fits_uses_no_link() -> None:
    fits, rows = kv_cache(replace(CACHE, memory=129_000.0), ENGINE, 1.4)
    assert fits["away"] == 0
    assert {row["step_ms"] for row in rows} == {rows[0]["step_ms"]}
    assert all(row["link_gb"] == row["host_gb"] == row["page_waste"] == 0 for row in rows)
    assert rows[1]["back_ms"] > rows[2]["back_ms"] > 0


def test_one_block_needs_no_buffers_where_all_fits() -> None:
    one = replace(CACHE, decoder=replace(CACHE.decoder, blocks=1))
    needed = one.whole_bytes + one.decoder.weight_bytes
    assert replace(one, memory=needed).away == 0
    with pytest.raises(ValueError, match="does not fit"):
        replace(one, memory=needed - 1)


@pytest.mark.parametrize(("changes", "says"), [
    ({"context": 0}, "the context must be 1 or more"), ({"batch": 0}, "the batch must be"),
    ({"block_tokens": 0}, "the block must be"), ({"page_bytes": 5000}, "a power of two, not 5000"),
    ({"memory": 64_000.0}, "small does not fit: its weights and the buffers of two layers need 0.0 GB"),
])
def test_mistakes(changes: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(CACHE, **changes)


@settings(max_examples=60, deadline=None)
@given(context=st.integers(1, 100_000), batch=st.integers(1, 1000), ratio=st.floats(1, 4),
       link=st.floats(1e9, 5e11), page=st.integers(12, 21), block=st.integers(1, 4096))
def test_bounds(context: int, batch: int, ratio: float, link: float, page: int, block: int) -> None:
    decoder = load_decoder("gpt2")
    needed = 2 * decoder.params + 0.6 * batch * context * decoder.token_bytes
    cache = Cache(decoder, context, batch, 1e14, 3e12, needed, link, block, 1 << page)
    fits, (memory, offload, engine) = kv_cache(cache, Engine(4096, 64, 4096, 1000, constant(1.0)), ratio)
    assert 0 <= fits["away"] <= 1
    assert memory["step_ms"] <= engine["step_ms"] * (1 + 1e-9) and engine["step_ms"] <= offload["step_ms"] * (1 + 1e-9)
    assert offload["step_ms"] <= engine["step_ms"] * ratio * (1 + 1e-9)
    assert engine["link_gb"] * ratio == pytest.approx(offload["link_gb"])
    assert engine["host_gb"] <= offload["host_gb"] and 0 <= engine["page_waste"] < 1


def test_decoders() -> None:
    # Published configurations: Llama 3 8B has 32 layers, 8 groups of keys with 128 values; GPT-2 12 with 768.
    llama = load_decoder("llama")
    assert (llama.blocks, llama.query_values, llama.key_values, llama.dtype) == (32, 4096, 1024, "bfloat16")
    assert llama.token_bytes == 131_072
    # Products have two operations for a parameter, but for the embedding, which is only looked up, and norms.
    assert llama.token_flops == pytest.approx(2 * (llama.params - 128256 * 4096), rel=1e-3)
    gpt2 = load_decoder("gpt2")
    assert (gpt2.blocks, gpt2.key_values, gpt2.token_bytes) == (12, 768, 36_864)
    with pytest.raises(ValueError, match="vgg16 is no decoder whose keys and values could be kept: it has no fused"):
        load_decoder("vgg16")


def test_ratios(tmp_path: Path) -> None:
    shipped = kv_ratio()
    assert (shipped["coding"], shipped["dtype"], len(shipped["arrays"])) == ("exponents", "bfloat16", 4)
    assert 1.3 < shipped["ratio"] < 1.5
    np.savez(tmp_path / "d.npz", k=np.zeros((8, 512), np.float32), v=np.ones((8, 512), np.float16),
             other=np.ones(4, np.float32))
    assert kv_ratio(tmp_path / "d.npz", "k")["ratio"] > 20
    for pattern, says in (("q", "has no array that matches 'q': it has k, v, other"),
                          ("[kv]", "matches arrays of float16 and float32")):
        with pytest.raises(ValueError, match=says):
            kv_ratio(tmp_path / "d.npz", pattern)
    (tmp_path / "net.json").write_text(json.dumps({"input": [4], "layers": [
        {"kind": "fc", "name": "f", "features": 2}]}))
    with pytest.raises(ValueError, match="is no decoder"):
        load_decoder(str(tmp_path / "net.json"))
