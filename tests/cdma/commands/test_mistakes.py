"""Mistakes in calls of all commands: one line that says what was wrong, exit code 2, and nothing written."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cdma.__main__ import main
from cdma.commands import soc
from cdma.golden.codec import blocks

_LIBRARY = Path(__file__).parents[2] / "synth/tiny.lib"

MISTAKES = """
alternatives lenet | there is no network 'lenet'
alternatives link.svg --plot link.svg | link.svg is an input
alternatives vgg16 --ahead some | must be a number of blocks
area --recipe balanced | 'fast', 'small', 'plain'
area --target asic | asic
area --target ecp5 --liberty x.lib | ecp5
area --target liberty | --liberty FILE
bench --compare a --fail-over -1 | 0 or more
bench --compare a b --only golden | measures nothing
bench --compare a b c | not 3
bench --compare list.json | cdma bench --output
bench --compare text.json | text.json is not JSON
bench --only golden --fail-over 2 | --compare
bench --only golden --output damaged.json | damaged.json is not JSON
bench --only golden --output nowhere/figures.json | nowhere is not a folder: make it first, or give figures.json
bench --only speed | golden
bench --only timing | --liberty
board de10 | no board 'de10': there are ulx3s-12f,
board ulx3s-85f --array conv99 | conv99
board ulx3s-85f --bytes 0 | --bytes must be 1 to 1024 lines of 128 bytes, not 0
board ulx3s-85f --bytes 7296 | the dump's lines must be at most raw_bytes 7168, not 7296 bytes
board ulx3s-85f --bytes few | must be bytes, for instance 65536, 64K, 4M or 1.5G, not 'few'
board ulx3s-85f --bytes 200 | lines of 128 bytes, not 200 bytes
board ulx3s-85f --set beat_bytes=8 | beat_bytes must be one of 16, 32, 64, not 8
board ulx3s-85f --set element_bits=8 | unknown parameter 'element_bits'
board ulx3s-85f --design cores --set lanes=2 | unknown parameter 'lanes'
board | give a board: 'cdma board --list' shows those that are known
capture --accuracy --steps 3 -o a | --accuracy writes no dump: leave --steps and --output out
capture --example sums --every 3 | --example is captured at points of its own
capture --example digits --narrow none --narrow float16 | give one --narrow, or compare formats with
capture --example relu2 --narrow float16 | --narrow is for --example digits
capture --example sums train.py | give one of a script, --example NAME and --accuracy
capture -o dump --every 0 train.py | must be a whole number of 1 or more, not '0'
capture --profile t.json --example sums | --profile is for scripts
capture -o dump --max-array 4X train.py | must be bytes, for instance 65536, 64K, 4M or 1.5G, not '4X'
capture -o dump --narrow float16 train.py | --narrow and --seeds are for the worked example
capture --profile file file | file is an input
capture -o dump --profile times.json train.py | give one of -o FOLDER for a dump and --profile FILE.json
capture -o dump --steps 1,x train.py | must be a whole number of 0 or more, not 'x'
capture train.py -o dump | before the script: cdma capture -o FOLDER train.py
capture | give one of a script, --example NAME and --accuracy
characterise . | is a folder without manifest.json
characterise dump.npz --array conv9 | has no array 'conv9': there are sparse
characterise dump.npz --date today | must be a date as 2026-11-23, not 'today'
characterise dump.npz --engine huge | there are no measured cycles of an engine 'huge'
characterise dump.npz --jobs 0 | must be a whole number of 1 or more, not '0'
characterise dump.npz --report dump.npz | dump.npz is an input: give the output a name of its own
characterise dump.npz --report other/../dump.npz | other/../dump.npz is an input
characterise captured --report captured/manifest.json | captured/manifest.json is an input
characterise dump.npz --element 16 | --element 16 is for files of raw elements, but dump.npz says which types it holds
characterise raw.bin --dtype int8 --element 8 | --dtype int8 says how large the elements are: leave --element 8 out
characterise dump.npz --report gone/page.html | gone is not a folder
characterise dump.npz --scheduler nothing://there | there is no Dask scheduler at nothing://there
characterise dump.npz --scheduler tcp://127.0.0.1:1 --jobs 2 | leave it out with --scheduler
characterise none.npz | cannot read none.npz
characterise raw.bin --dtype float31 | there is no type 'float31' of elements
characterise raw.bin --dtype int8 --shape 2,3 | raw.bin has 8 elements, not the 6 of the shape 2x3
characterise raw.bin --dtype int8 --shape 2x4 | must be whole numbers with commas between, as 32,64,28,28
characterise raw.bin | say how large they are
characterise layer.npy dump.npz --dtype int8 | but layer.npy and dump.npz say which types they hold
characterise layer.npy --shape 4,64 | --shape 4,64 is for files of raw elements
characterise --dtype int8 | but the shipped dump says which types it holds: leave --dtype out
compress - o | --element
compress layer.npy layer.npy | is an input
compress captured captured/step.npz --array layer | captured/step.npz is an input
compress layer.npy no/folder/o | no/folder is not a folder: make it first, or give o another one
compress layer.npy o --block-bytes 4k | must be a multiple of 128 from 512 to 32768, not '4k'
compress layer.npy o --block-bytes 513 | must be a multiple of 128 from 512 to 32768, not '513'
compress layer.npy o --element x | must be 8, 16 or 32, not 'x'
compress raw.bin o | --element
compress raw7.bin o --element 32 | 7 bytes
compress two.npz o --array x | no array 'x'
compress two.npz o | choose one with --array (layer, other)
compress layer.npy o --lines --coding zvc32 | a line stream (--lines) has no blocks: leave --coding out
compress layer.npy o --lines --block-bytes 512 | a line stream (--lines) has no blocks: leave --block-bytes out
compress layer.npy o --lines --no-fallback | a line stream (--lines) has no blocks: leave --no-fallback out
compress layer.npy o --element 16 --coding zvc32 | --coding zvc32 has elements of 32 bits, not 16: leave --element out
compress layer.npy o --coding zip | invalid choice: 'zip'
compress two.npz o --array other --coding float32 | two.npz has 3 bytes, not a multiple of the 4 of an element
compress layer.npy o --dtype int8 | --dtype int8 is for files of raw elements, but layer.npy says
compress raw.bin other --element 8 | other is a folder: give the name of a file
decompress good o --dtype float32 | .npy
decompress good o.npz | name it o.npy, not o.npz
decompress good o --lines --element 8 | (without a head: add --stream): leave --lines and
decompress good o --stream --element 32 | --lines
decompress good o --stream --lines --element 8 --block-bytes 512 | leave --block-bytes out
decompress good o --stream --lines --element 8 --crc 0 | no CRC
decompress good o --stream --lines | --element
decompress good o | give --stream to read one
decompress good good | is an input
decompress good o.npy --stream --dtype float8_e4m3 | give --dtype uint8 for its bits, or name the output o
decompress good o.npy --stream --dtype float8_e5m2 | give --dtype uint8 for its bits, or name the output o
decompress good o.npy --stream --dtype i4,, | no type 'i4,,' of elements
decompress good o.npy --stream --dtype int4 | no type 'int4' of elements
decompress good o.npy --stream --dtype bfloat16 | give --dtype uint16 for its bits, or name the output o
decompress good o.npy --stream --dtype float31 | float31
decompress good o.npy --stream --dtype float32 --shape 7,7 | 7,7
decompress good o.npy --stream --dtype object | object
decompress good o.npy --stream --shape a | shape a
decompress other o | other is a folder: give the name of a file
generate block-compresor | no preset 'block-compresor' (did you mean block_compressor
generate block_compressor --set codings=bfloat16 | codings with bfloat16 must have zvc16 too, not bfloat16
generate block_compressor compressor --set codings=zvc32 | compressor: unknown parameter 'codings'
generate compressor --set beat=32 | beat_bytes
generate compressor --set beat_bytes | name=value
generate compressor --set beat_bytes=48 | 16, 32, 64
generate compressor --set beat_bytes=wide | integer
generate compressor -o file | file
generate compressor decompressor --set name=both | two configurations are named 'both'
generate engine --set lanes=17 | lanes must be 1 to 16, not 17
generate engine --set link_beat_bytes=16 | not 16 beside beat_bytes 32
generate missing/ | cannot read configuration missing: No such file
generate nothing | no preset 'nothing'
generate tinny | no preset 'tinny' (did you mean tiny?): there are engine, lean, paper
generate tiny --set name=CDMA_coding | 'CDMA_coding', which has a meaning in NAME_regs.h
generate tiny --set name=mem | name must not be 'mem', which has a meaning in NAME.rdl
info good --block-bytes 512 | the head of the file says it
info good | give --stream to read one
kvcache llama --context 0 --batch 1 | the context must be 1 or more
kvcache llama --context 4 --batch 1 --dump d.npz | say which arrays of the dump
kvcache llama --context 4 --batch 1 --efficiency 0 | must be above 0
kvcache llama --context 4 --batch 1 --memory 8 | llama does not fit
kvcache llama --context 4 --batch 1 --page 3K | must be a power of two from 4K to 2M
kvcache vgg16 --context 4 --batch 1 | vgg16 is no decoder
plan --codings lines,zvc | must be names of zvc, exponents with commas between, not 'lines,zvc'
plan --tune --codings zvc | leave --tune or --codings out
plan --tune --iterations 1 | must be a whole number from 2 to 1000000, not 1
plan --tune -o plan.json | leave --tune or --output out
plan --engine mine.toml -o mine.toml | mine.toml is an input
plan --tune dump.npz --plot link.svg | link.svg is an input
plan dump.npz -o dump.npz | dump.npz is an input: give the output a name of its own
plan vgg16 --densities dump.npz -o other/../dump.npz | dump.npz is an input
plan vgg16 --profile list.json -o list.json | list.json is an input
plan --element 8 | --element 8 is for files of raw elements, but the shipped dump says
plan raw.bin --element 8 --dtype int8 | --dtype int8 says how large the elements are: leave --element 8 out
plan dump.npz --engine compressor | is a core, not an engine
plan dump.npz --engine tiny --set lanes=0 | lanes must be 1 to 16
plan dump.npz --gpu v100 | --gpu is for networks
plan dump.npz --hide other=3 | --hide names other, but the tensors are sparse, dense, half
plan dump.npz --hide soon | must be a number of 0 or more
plan dump.npz --link 0 | must be a number above 0
plan dump.npz --lossy float16 | has no stage that rounds
plan dump.npz --max-error 1 | give --lossy
plan dump.npz --plot x.svg | --plot is for training runs: give --tune
plan dump.npz --tune | sparse names no step of training
plan dump.npz -o no/plan.json | no is not a folder: make it first, or give plan.json another one
plan vgg16 --codings zvc,exponents | leave exponents out of --codings, or plan a dump
plan vgg16 --hide 3 | --hide is for dumps
plan vgg16 --profile gone.json --efficiency 0.5 | leave --efficiency out
plan vgg16 --tune | vgg16 is one
plan vgg16 dump.npz | vgg16 is a network: plan it alone
plan layer.npy --dtype int8 | --dtype int8 is for
plan vgg16 --dtype int8 | vgg16 cannot be trained in 'int8': give float32, bfloat16
plan deep.json | deep.json is nested too deeply to be read
results --output r --report other/../r | other/../r is the file of --output, too
results --output gone/r.md | gone is not a folder
results --report gone/r.html | gone is not a folder
rules --module axi3 | there is no module 'axi3': choose from axi4_write_rules,
simulate --engine compressor dump.npz | compressor is a core
simulate --engine huge dump.npz | no preset 'huge'
simulate --engine tinny dump.npz | no preset 'tinny' of the engine (did you mean tiny?): there are engine, lean
simulate --engine paper dump.npz --element 16 | builds the codings zvc32, not zvc16
simulate --engine tiny dump.npz --beat-bytes 16 | --beat-bytes
simulate --lines dump.npz --latency 3 | --lines simulates cores alone: leave --latency out
simulate --plan plan.json --engine engine dump.npz | make a plan for this engine
simulate --plan plan.json dump.npz --coding zvc32 | --coding is not for plans
simulate --plan plan.json dump.npz --narrow float16 | --narrow is not for plans
simulate --plan plan.json dump.npz --set lanes=2 | --set is for --engine
simulate --plan plan.json dump.npz --simulator icarus | engines run only in verilator
simulate --plan plan.json dump.npz | has no tensor half
simulate block_compressor | is a preset, and simulate takes dumps: --blocks simulates the block cores
simulate dump.npz --array sparse --element 8 --narrow bfloat16 | float8_e4m3
simulate dump.npz --array x | no array 'x'
simulate dump.npz --beat-bytes wide | must be 16, 32 or 64, not 'wide'
simulate dump.npz --block-bytes 512 | cores alone have this option (an engine has its own: --set block_bytes=N
simulate dump.npz --block-bytes 640 | must be 512, 1024, 2048, 4096, 8192, 16384 or 32768, not '640'
simulate dump.npz --blocks --engine tiny --latency 9 | leave --engine and --latency out
simulate dump.npz --blocks --set lanes=2 | --blocks simulates cores alone: leave --set out
simulate dump.npz --coding lines8 | lines8
simulate dump.npz --coding zvc16 --engine paper | builds the codings zvc32, not zvc16: choose another
simulate dump.npz --coding zvc32 --element 16 | has elements of 32 bits, not 16: leave --element out
simulate dump.npz --lines --blocks | not allowed with argument
simulate dump.npz --lines --coding zvc8 | line streams have neither codings nor blocks: leave --coding out
simulate dump.npz --simulator other | other
simulate empty.npy | empty
simulate odd.npy --coding zvc32 | array odd: 6 bytes are not a multiple of the element size of 4
simulate odd.npy --lines --element 32 | 6 bytes, not a multiple of the 4
simulate odd.npy other/odd.npy | two arrays
simulate paper_compressor | --lines simulates the cores of line streams
simulate raw.bin | --element
simulate tiny | tiny is a preset, and simulate takes dumps: --engine names an engine
simulate two.npz --array other --narrow float16 | int8
simulate dump.npz --dtype int8 | --dtype int8 is for
simulate --plan deep.json | deep.json is nested too deeply to be read
soc --array conv99 | conv99
soc --board arty | no board 'arty' for a SoC: there are ulx3s-85f
soc --board b --waves | a board is not simulated: leave out --waves
soc --engine engine | address_bits must be 32 in a SoC, as on its bus, not 40
soc --bytes 0 | the tensor must have 4 to 245760 bytes
soc -o here | --output is for the files of a board
timeline vgg16 --densities dump.npz --plot link.svg | link.svg is an input
timeline vgg16 --share text.json --plot text.svg | text.svg is an input
timeline --paper --batch 3 | --batch is for one network
timeline --paper --positions 3 | --positions is for one network
timeline gpt2 --positions 0 | the input shape of gpt2 must be whole numbers of 1 or more
timeline lenet | there is no network 'lenet'
timeline vgg16 --ahead 1block | --ahead is for a queue of transfers: give --schedule queue too
timeline vgg16 --batch 0 | batch of vgg16 must be
timeline vgg16 --budget 5 | --policy budget and --budget GB belong together
timeline vgg16 --compute int8 | vgg16 cannot be computed in 'int8'
timeline vgg16 --density 2 | must be a number from 0 to 1
timeline vgg16 --dtype int8 | vgg16 cannot be trained in 'int8'
timeline vgg16 --efficiency 0 | efficiency must be above 0
timeline vgg16 --efficiency gelu=0.5 | there is no efficiency of 'gelu': give convolution
timeline vgg16 --engine huge | there are no measured cycles of an engine 'huge': give engine, lean
timeline vgg16 --gpu k80 | there is no GPU 'k80'
timeline vgg16 --lanes 0 | must be a whole number of 1 or more
timeline vgg16 --link 0 | must be a number above 0
timeline vgg16 --list | give one of
timeline vgg16 --policy budget | --policy budget and --budget GB belong together
timeline vgg16 --profile gone.json --efficiency 0.5 | leave --efficiency out
timeline gone.json | cannot read gone.json
timeline vgg16 --profile gone.json | cannot read gone.json
timeline vgg16 --schedule queue --ahead 5 | must be a number of blocks, as 2blocks, or all
timeline vgg16 --shards 0 | must be a whole number of 1 or more
timeline vgg16 --share 1.5 | must be a number above 0 and at most 1, or a .json file
timeline vit --positions 256 | vit has no choice of positions
timeline | give one of a network, --paper and --list
timeline deep.json | deep.json is nested too deeply to be read
timing --liberty LIB --memory-setup soon | must be a time in ps from 0 to a million, not 'soon'
timing --plot x.svg --liberty LIB | --plot is for --sweep
timing --sweep --liberty link.svg --plot link.svg | link.svg is an input
timing --sweep --target ecp5 | --sweep measures configurations of its own
timing --sweep compressor --liberty LIB | --sweep measures configurations of its own
timing --target xilinx7 --liberty LIB | --liberty is for --target liberty, not xilinx7
timing --target ecp5 --liberty LIB | --liberty is for --target liberty
timing --target ecp5 --memory-output 99 | --memory-output and --memory-setup are for --target liberty
timing --target ecp5 --speed 9 | 9
timing --target ultrascale+ --units tiny | --units places the units of an engine: give it --target ecp5
timing compressor --liberty LIB --tool tables | unrecognized arguments: --tool tables
timing compressor --units --target ecp5 | --units places the units of one engine: name one
timing tiny --units --liberty LIB | in cells engines are timed unit by unit anyway
timing | timing in cells needs a cell library: give --liberty FILE, or --target ecp5
train --example digits --clock 0 | must be a number above 0, not '0'
train --example digits --engine compressor | compressor is a core, not an engine
train --example digits --page 4X | must be bytes, for instance 65536, 64K, 4M or 1.5G, not '4X'
train --example digits --steps 0 | must be a whole number of 1 or more, not '0'
train | give the network to train: --example digits, --example sums or --example llama
verify --minutes 0 | 0
verify --jobs 0 | must be a whole number of 1 or more, not '0'
verify --list --report r | --list runs nothing: leave --report out
verify --merge a --step lint --minutes 2 | reports that are there: leave --step and --minutes out
verify --merge file | has no results.json: give folders that cdma verify --report wrote
verify --merge nowhere | nowhere has no results.json: give folders that cdma verify --report wrote
verify --report file --step lint | is a file: give the name of a folder
verify --seed x | must be a whole number of 0 or more, not 'x'
verify --shard 5/4 | must be a part and the number of parts, as 2/4, not '5/4'
verify --test ( | must be a regular expression, not '('
verify --test corners | --test corners picks tests of a step's bench: name the step with --step
verify tiny --jobs 2 --scheduler tcp://x:1 | leave it out with --scheduler
verify tiny --merge a | leave the configuration tiny out
verify tiny --step windows | cdma_tiny_engine has no step 'windows': its steps are lint, registers
"""
"""Calls, and what is said of them."""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A plan for two arrays of dump.npz."""
    folder = tmp_path_factory.mktemp("plan")
    _dump(folder)
    call = f"plan {folder}/dump.npz --array sparse --array dense --engine tiny -o {folder}/plan.json"
    assert main(call.split()) == 0
    return (folder / "plan.json").read_bytes()


def _dump(folder: Path) -> None:
    rng = np.random.default_rng(9)
    np.savez(folder / "dump.npz", sparse=np.maximum(rng.standard_normal((3, 700)), 0).astype(np.float32),
             dense=rng.standard_normal(2000).astype(np.float32), half=np.ones(300, np.float16))


@pytest.fixture
def files(tmp_path: Path, plan: bytes) -> None:
    """The files that the calls name: arrays, a bare stream, and what is no file of figures."""
    _dump(tmp_path)
    layer = np.arange(1815, dtype=np.float32)
    np.savez(tmp_path / "two.npz", layer=layer, other=np.ones(3, np.int8))
    (tmp_path / "other").mkdir()
    (tmp_path / "captured").mkdir()
    np.savez(tmp_path / "captured/step.npz", layer=layer)
    (tmp_path / "captured/manifest.json").write_text('{"format": "cdma-dump", "version": 1, '
                                                     '"files": [{"file": "step.npz"}]}')
    (tmp_path / "link.svg").symlink_to("dump.npz")
    (tmp_path / "text.svg").symlink_to("text.json")
    for name, array in (("layer", layer), ("odd", np.zeros(3, np.int16)), ("other/odd", np.zeros(3, np.int16)),
                        ("empty", np.zeros(0, np.float32))):
        np.save(tmp_path / f"{name}.npy", array)
    for name, content in {"raw.bin": bytes(8), "raw7.bin": bytes(7), "good": blocks.compress(layer, 4).tobytes(),
                          "plan.json": plan, "text.json": b"figures", "damaged.json": b"{", "list.json": b"[]",
                          "deep.json": b"[" * 100_000, "file": b"", "mine.toml": b"lanes = 1\n"}.items():
        (tmp_path / name).write_bytes(content)


@pytest.mark.parametrize(("call", "says"), [line.split(" | ") for line in MISTAKES.strip().splitlines()])
def test_mistakes(call: str, says: str, files: None, fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch,
                  tmp_path: Path) -> None:
    # As if LiteX was not installed: mistakes in a call are named before that.
    monkeypatch.setattr(soc, "importlib", SimpleNamespace(util=SimpleNamespace(find_spec=lambda name: None)))
    before = sorted(tmp_path.rglob("*"))
    assert says in fails(*(str(_LIBRARY) if word == "LIB" else word for word in shlex.split(call)))
    assert [path for path in sorted(tmp_path.rglob("*")) if "build" not in path.parts] == before
