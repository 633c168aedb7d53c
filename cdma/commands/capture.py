"""``cdma capture``: dumps of activations kept for backward, from a training script or from the worked example."""

from __future__ import annotations

import argparse
import math
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any

from cdma.console.files import check_no_input
from cdma.console.numbers import byte_size, one_or_more
from cdma.console.options import add_command, json_option, refuse, whole_number
from cdma.console.output import show
from cdma.console.progress import Progress
from cdma.report.table import Column, Table

if TYPE_CHECKING:
    from cdma.workload.capturing.script import Watched

_DESCRIPTION = """\
Write the activations that a PyTorch model keeps for backward, as a dump that all other commands read. The script
runs as it does under python, with its own arguments after its name; options of this command come before it. The
model is the first module that is called in training mode; a step is a call of it, and an epoch an iteration over a
torch DataLoader. Results of the training do not change. Arrays are named after modules, step000100/features.3.

Beside the dump, network.json has the network's layers and tensors, and times of the layers, measured in five steps
that are not captured; cdma timeline FOLDER reads it. With --profile only times are measured, for cdma timeline
--profile.

With --example digits no script is needed: a small convolutional network learns handwritten digits in seconds and is
captured at five points of its training; --narrow rounds the activations that it keeps. With --example sums a small
transformer learns sums in words instead, in bfloat16: its activations are dense. With --example relu2 it has squared
ReLU in place of GELU and SwiGLU, which brings zeros back; with --example llama it has SwiGLU alone, and norms in
float32. --accuracy trains the convolutional network with every format and several seeds, and prints the accuracies.

PyTorch comes with the extra: pip install 'cdma-rtl[torch]'. docs/capture.md has names, limits, manifest, and how to
capture from within a program."""

_EXAMPLES = """\
  cdma capture --example digits                           a worked example, as a first dump
  cdma capture --example sums                             a dense one: bfloat16, LayerNorm, GELU, SwiGLU
  cdma capture --example relu2                            the same with squared ReLU: more than half are zeros there
  cdma capture -o dump train.py --epochs 5                every 100th step of a script
  cdma capture -o dump --every 500 --modules 'conv*' --max-total 200M train.py
  cdma capture -o dump --steps 0,10,1000 --outputs train.py
  cdma capture -o dump train.py && cdma timeline dump     what its swapping costs, and what the engine gains
  cdma capture --profile times.json train.py              times of the layers, for cdma timeline
  cdma capture --accuracy --seeds 3                       training with rounded activations"""


_EXAMPLE = {"digits": "cnn", "sums": "gpt", "relu2": "relu2", "llama": "llama"}
"""Networks of the worked examples by what they are called in commands."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "capture", "dumps of activations from a PyTorch training", _DESCRIPTION, _EXAMPLES,
                         run)
    parser.add_argument("script", nargs="?", metavar="SCRIPT.py", help="script that trains a model")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT ...", help="its arguments")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of the dump (default, of an example: its "
                        "name)")
    parser.add_argument("--every", type=one_or_more, metavar="N", help="capture every Nth step (default: 100)")
    parser.add_argument("--steps", type=_steps, metavar="N,...", help="capture these steps instead")
    parser.add_argument("--modules", action="append", metavar="PATTERN", help="capture arrays of modules of this name "
                        "or class, for instance 'conv*' or ReLU; may be repeated (default: all)")
    parser.add_argument("--model", default="*", metavar="CLASS", help="class of the model, where there are several")
    parser.add_argument("--outputs", action="store_true",
                        help="also capture outputs of modules that are not kept for backward")
    parser.add_argument("--least", type=byte_size, default=4096, metavar="SIZE",
                        help="leave out arrays with fewer bytes "
                        "in the whole batch (default: 4K)")
    parser.add_argument("--max-array", type=byte_size, default=4 << 20, metavar="SIZE",
                        help="most bytes of an array: as "
                        "many of the first samples of the batch are kept as fit (default: 4M)")
    parser.add_argument("--max-total", type=byte_size, default=1 << 30, metavar="SIZE",
                        help="most bytes of the dump: at "
                        "the limit capture stops and training continues (default: 1G)")
    parser.add_argument("--form", choices=("npz", "safetensors"), help="kind of the files (default: npz; safetensors "
                        "for steps with bfloat16 or float8 values, which npz cannot hold)")
    parser.add_argument("--no-times", action="store_true", help="measure no times of layers beside the dump")
    parser.add_argument("--profile", metavar="FILE.json", help="write the times of the model's layers instead of a "
                        "dump, for cdma timeline --profile: five steps after three to warm up")
    parser.add_argument("--example", choices=tuple(_EXAMPLE), metavar="NAME", help="train a worked example instead "
                        f"of a script: {', '.join(_EXAMPLE)}")
    parser.add_argument("--accuracy", action="store_true", help="accuracies of the worked example with rounded "
                        "activations")
    parser.add_argument("--narrow", action="append", choices=("none", "bfloat16", "float16", "float8_e4m3"),
                        help="round the example's activations to this format; with --accuracy may be repeated "
                        "(default: none, and with --accuracy none, bfloat16 and float16)")
    parser.add_argument("--seeds", type=one_or_more, metavar="N", help="--accuracy: train N times (default: 5)")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Capture and print what was written."""
    if (call.script is not None) + (call.example is not None) + call.accuracy != 1:
        raise ValueError("give one of a script, --example NAME and --accuracy")
    if call.script is not None:
        return _script(call)
    if call.profile is not None:
        raise ValueError("--profile is for scripts: leave it out")
    return _accuracy(call) if call.accuracy else _example(call)


def _script(call: argparse.Namespace) -> int:
    from cdma.workload.capturing.manifest import check_folder

    if (call.output is None) == (call.profile is None):
        raise ValueError("give one of -o FOLDER for a dump and --profile FILE.json for times, before the script: cdma "
                         f"capture -o FOLDER {call.script}")
    if call.narrow or call.seeds:
        raise ValueError("--narrow and --seeds are for the worked example: a script's training is left as it is")
    if call.profile is not None:
        return _profile(call)
    check_folder(call.output)
    from cdma.workload.capturing import capture
    from cdma.workload.capturing.script import Watched

    watched = Watched(lambda model: capture(model, call.output, every=call.every or 100, steps=call.steps,
                                            **_choices(call)), call.model)
    try:
        return _run(call, watched)
    finally:
        if watched.watcher is not None and watched.watcher.step:
            _print_dump(call, call.output)


def _profile(call: argparse.Namespace) -> int:
    check_no_input(call.profile, call.script)
    from cdma.workload.capturing import CaptureError
    from cdma.workload.capturing.profiling import Profiler, check_file
    from cdma.workload.capturing.script import Watched

    check_file(call.profile)
    watched = Watched(lambda model: Profiler(model, call.profile), call.model)
    code = _run(call, watched)
    if watched.watcher is None or watched.watcher.times is None:
        return code
    times, failure = watched.watcher.times, watched.watcher.stopped
    outcome = {"file": None if failure else call.profile, "model": type(watched.model).__name__, "layers": times}
    show(call, outcome, lambda _: profile_times_text(times))
    if failure:
        raise CaptureError(failure)
    if not call.json:
        print(f"\nprofile: {call.profile} (cdma timeline NETWORK --profile {call.profile} reads it)")
    return code


def _run(call: argparse.Namespace, watched: Watched) -> int:
    """Run the script, and return its exit code."""
    from cdma.workload.capturing import CaptureError
    from cdma.workload.capturing.script import run_script, within

    code = 0
    try:
        # Standard output must have only the JSON.
        with redirect_stdout(sys.stderr) if call.json else nullcontext():
            run_script(call.script, call.arguments, watched)
    except CaptureError:
        raise
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except Exception as error:
        traceback.print_exception(type(error), error, within(error, call.script))
        code = 1
    if watched.watcher is None and not code:
        raise ValueError(f"{call.script} called no torch.nn.Module{f' of class {call.model}' * (call.model != '*')} in "
                         "training mode, with gradients recorded and parameters to learn")
    return code


def _example(call: argparse.Namespace) -> int:
    from cdma.workload.capturing.manifest import check_folder

    if call.every or call.steps or call.seeds:
        raise ValueError("--example is captured at points of its own: leave --every, --steps and --seeds out")
    if len(call.narrow or ()) > 1:
        raise ValueError("--example is trained once: give one --narrow, or compare formats with --accuracy")
    if call.example != "digits" and call.narrow:
        raise ValueError(f"--narrow is for --example digits: autocast keeps the activations of {call.example} in "
                         "bfloat16 already")
    folder, network = call.output or call.example, _EXAMPLE[call.example]
    check_folder(folder)
    from cdma.workload.capturing.example import NETWORKS, example

    with Progress() as progress:
        done = example(folder, network, _formats(call.narrow or ["none"])[0], progress=progress,
                       **_choices(call))
    _print_dump(call, folder, {"narrow": done.narrow, "accuracy": done.accuracy, "losses": done.losses,
                                     "tested": NETWORKS[network]})
    return 0


def _accuracy(call: argparse.Namespace) -> int:
    refuse(call, "--accuracy writes no dump", "--every", "--steps", "--output")
    from cdma.workload.capturing.example import accuracies

    with Progress() as progress:
        formats = accuracies(_formats(call.narrow or ["none", "bfloat16", "float16"]), call.seeds or 5, progress)
    show(call, {"formats": formats}, accuracy_text)
    return 0


def _print_dump(call: argparse.Namespace, folder: str, example: dict[str, Any] | None = None) -> None:
    """Print the content of a dump that was written, and of the worked example how well it learned."""
    from cdma.workload.capturing.manifest import read_manifest

    manifest = read_manifest(folder)
    show(call, {"folder": folder, **{key: manifest[key] for key in ("model", "files", "notes")},
                "arrays": len(manifest["arrays"]), **({"example": example} if example else {})},
         lambda _: capture_text(folder, manifest, example))


def _choices(call: argparse.Namespace) -> dict[str, Any]:
    """The choices of a capture that scripts and the worked example have in common."""
    return {"modules": call.modules or ("*",), "outputs": call.outputs, "least": call.least,
            "max_array": call.max_array, "max_total": call.max_total, "form": call.form,
            "times": not call.no_times}


def _formats(names: list[str]) -> list[str | None]:
    return [None if name == "none" else name for name in names]


def _steps(text: str) -> list[int]:
    return [whole_number(part) for part in text.split(",")]


def capture_text(folder: str, manifest: Mapping[str, Any], example: Mapping[str, Any] | None = None) -> str:
    """The steps of a dump that was written, and of the worked example how well it learned."""
    files, arrays = manifest["files"], manifest["arrays"].values()
    rows = Table([Column("file", "file"), Column("epoch", "epoch", ","),
                  Column("arrays", lambda step: sum(each["file"] == step["file"] for each in arrays), ","),
                  Column("bytes", "bytes", ","), Column("bytes for backward", "saved_bytes", ","),
                  Column("density", lambda step: _density([each for each in arrays if each["file"] == step["file"]]),
                         ".3f")], files)
    steps = "1 step" if len(files) == 1 else f"{len(files)} steps"
    parts = [f"{manifest['model']}, {steps} captured; bytes for backward are those of the whole batch:", rows.text(),
             *manifest["notes"]]
    if example is not None:
        parts.append(f"{100 * example['accuracy']:.1f} % of the {example['tested']} correctly")
    return "\n\n".join([*parts, f"dump: {folder} (cdma characterise {folder} measures it)"])


def _density(arrays: Sequence[Mapping[str, Any]]) -> float | None:
    """Density of all arrays of a step; None if it has none."""
    sizes = [math.prod(array["full_shape"]) for array in arrays]
    return sum(array["density"] * size for array, size in zip(arrays, sizes, strict=True)) / sum(sizes) if sizes \
        else None


def profile_times_text(layers: Mapping[str, Mapping[str, float]]) -> str:
    """A row for each layer."""
    return Table([Column("layer", "layer"), Column("forward ms", "forward_ms", ".3f"),
                  Column("backward ms", "backward_ms", ".3f")],
                 [{"layer": name, **times} for name, times in layers.items()]).text()


def accuracy_text(found: Mapping[str, Any]) -> str:
    """A row for each format."""
    rows = Table([Column("format", lambda row: row["narrow"] or "none"), Column("runs", lambda row: len(row["runs"])),
                  Column("mean", "accuracy", ".2%"), Column("spread", "spread", ".2%"),
                  Column("least", lambda row: min(run.accuracy for run in row["runs"]), ".2%"),
                  Column("most", lambda row: max(run.accuracy for run in row["runs"]), ".2%"),
                  Column("loss", "loss", ".4f")], found["formats"])
    return ("Test images that the worked example classifies correctly, with the activations kept for backward "
            f"rounded:\n\n{rows.text()}")
