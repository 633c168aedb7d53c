"""``cdma plan``: for every tensor the treatment whose transfers delay computing least."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.files import check_folder_of, check_no_input, picture_file
from cdma.console.networks import efficiency_of, network_options, profile_for
from cdma.console.numbers import amount, named, positive
from cdma.console.options import (
    add_command,
    check_raw_options,
    dtype_option,
    element_option,
    engine,
    engine_option,
    json_option,
    whole_number,
)
from cdma.console.output import lanes_text, show
from cdma.console.progress import Progress
from cdma.hdl.config.files import write_file
from cdma.report.table import Column, Table

if TYPE_CHECKING:
    from cdma.hdl.config.engine import EngineConfig
    from cdma.workload.plan.choice import Hidden, Plan
    from cdma.workload.plan.cycles import Timing
    from cdma.workload.plan.options import Tensor

_DESCRIPTION = """\
Choose for every tensor of a dump or a network how the engine moves it: left raw, zero-value coding in elements of 8,
16 or 32 bits, exponents of bfloat16 and float32, and with --lossy also rounded to 16 bits, with or without coding. The
choice is the treatment with the least time of offload and prefetch that computing does not hide; if several are equal,
the one that changes the tensor least.

All codings that the engine builds may be chosen; --codings limits them to zero-value coding (zvc) or to exponents.
Networks and --tune use zero-value coding, because a density says nothing about exponents.

Packed bytes are exact for dumps, and from densities for networks; cycles are predicted block by block. The time that
computing hides is --hide for dumps (default: none), and that of the timeline's steps for networks. -o writes a plan
that cdma simulate --plan runs. docs/plan.md has the model, the file and what the figures mean.

With --tune, replay a training run instead: arrays are named by step and layer (p020/conv1, step100/conv1,
epoch3/conv1), and a controller decides before each iteration from the counts of the last one; its exposed time is
printed beside those of compressing never and always, and of the best choices in hindsight."""

_EXAMPLES = """\
  cdma plan                                               the dump that ships with the project
  cdma plan dump.npz --engine wide --link 25.6 --hide 10  each transfer has 10 us of computing beside it
  cdma plan dump.npz --set narrowing=true --lossy bfloat16 --max-error 0.004
  cdma plan dump.npz -o plan.json && cdma simulate --plan plan.json dump.npz
  cdma plan net.safetensors --codings zvc                 without exponents
  cdma plan vgg16 --gpu v100 --policy conv                a network, by its table of densities
  cdma plan squeezenet --densities dump.npz --json | jq '.totals'
  cdma plan --tune --hide 2                               the training run that ships with the project
  cdma plan --tune run.npz --iterations 500 --plot run.svg"""

CODINGS = ("zvc", "exponents")
"""The families of :data:`cdma.workload.plan.codings.CODINGS`, which the parser names without importing what
predicts."""

_MOST_ITERATIONS = 1_000_000
_NETWORK = ("gpu", "batch", "positions", "compute", "policy", "density", "densities", "efficiency", "profile")


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "plan", "choose how to move each tensor, by predicted time", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("sources", nargs="*", metavar="DUMP|NETWORK", help="dumps, a network (see 'cdma timeline "
                        "--list') or a .json file with one of yours; default: the dump that ships with the project")
    parser.add_argument("--array", action="append", metavar="NAME", help="array of a dump; may be repeated (default: "
                        "all)")
    element_option(parser, "bits of a raw file's elements")
    dtype_option(parser, "networks: of its values")
    engine_option(parser)
    parser.add_argument("--link", type=positive, metavar="GB/s", help="bandwidth of the link (default: 12.8, measured "
                        "by the paper on PCIe 3 x16; networks: as for 'cdma timeline')")
    parser.add_argument("--clock", type=positive, default=1000.0, metavar="MHZ", help="clock of the engine (default: "
                        "1000)")
    parser.add_argument("--latency", type=whole_number, default=0, metavar="CYCLES", help="cycles until memories "
                        "answer (default: 0)")
    parser.add_argument("--lossy", action="append", choices=("bfloat16", "float16"), default=[],
                        help="format that float32 may be rounded to; may be repeated (default: none)")
    parser.add_argument("--codings", type=_codings, metavar="NAME,...", help="codings of blocks that may be chosen: "
                        "zvc, exponents, or both with a comma between (default: all that the engine builds)")
    parser.add_argument("--max-error", type=positive, metavar="X", help="largest allowed error of a rounded "
                        "value, as a share of the tensor's largest magnitude (default: any)")
    parser.add_argument("--hide", action="append", default=[], type=named(amount), metavar="[NAME=]US", help="dumps: "
                        "microseconds of computing beside each transfer, of all tensors or of one; may be repeated "
                        "(default: 0)")
    parser.add_argument("--gpu", metavar="NAME", help="networks: GPU (default: titan-x); with it, a folder of "
                        "cdma capture is planned as a network, not as a dump")
    network_options(parser, "networks: ")
    parser.add_argument("--policy", choices=("all", "conv", "dynamic"), help="networks: what is swapped (default: all)")
    parser.add_argument("-o", "--output", metavar="PLAN.json", help="write the plan")
    parser.add_argument("--tune", action="store_true", help="replay a training run with a controller that decides by "
                        "itself")
    parser.add_argument("--iterations", type=_iterations, metavar="N", help="--tune: iterations from the dump's first "
                        "step to its last (default: 200)")
    parser.add_argument("--plot", type=picture_file, metavar="FILE.svg", help="--tune: write the run as a picture")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Plan, and print a row per layer and the totals."""
    from cdma.workload.plan.cycles import Timing
    from cdma.workload.plan.file import plan_file
    from cdma.workload.plan.treatments import check_narrowing

    config = engine(call.engine or "engine", call.settings)
    if call.lossy:
        check_narrowing(config)
    elif call.max_error is not None:
        raise ValueError("--max-error is for lossy treatments: give --lossy bfloat16 or float16")
    timing = Timing(config, _link(call) * 1e3 / call.clock, call.latency)
    for output in filter(None, (call.output, call.plot)):
        check_no_input(output, *call.sources, call.densities, call.profile, call.engine)
    if call.tune:
        return _tune(call, timing)
    for option in ("iterations", "plot"):
        if getattr(call, option) is not None:
            raise ValueError(f"--{option} is for training runs: give --tune")
    if call.output:
        check_folder_of(call.output)
    with Progress() as progress:
        plan, source = _plan(call, timing, progress)
    written = plan_file(plan, source, timing, call.clock)
    outcome = _inputs(call, source, timing) | plan.summary(call.clock)
    if call.output:
        written.write(call.output)
    show(call, outcome, plan_text)
    if call.output and not call.json:
        print(f"\nplan: {call.output}")
    return 0


def _tune(call: argparse.Namespace, timing: Timing) -> int:
    """Replay a training run, and print a row per rule and tensor."""
    from cdma.report.plots.drawing import require_extra
    from cdma.report.plots.tuning import picture
    from cdma.workload.data import DIGITS
    from cdma.workload.plan.tuning_replay import replay, tracks

    if call.codings:
        raise ValueError("--codings is for plans of one iteration: leave --tune or --codings out")
    if call.output:
        raise ValueError("--output is for plans of one iteration: leave --tune or --output out")
    if _is_network(call):
        raise ValueError(f"--tune replays dumps of a training run, not networks: {call.sources[0]} is one")
    if call.plot:
        require_extra()
    source = _source(call, "the shipped training run")
    with Progress() as progress:
        tensors = _tensors(call, call.sources or [str(DIGITS)], timing, progress)
        several = tracks(tensors, 200 if call.iterations is None else call.iterations)
        done = replay(several, timing, hidden(call.hide, [track.name for track in several]), call.clock,
                      progress=progress)
    outcome = _inputs(call, source, timing) | done.summary()
    if call.plot:
        write_file(call.plot, picture(done, f"Self-tuning: {source} on {timing.config.name}"))
    show(call, outcome, tuning_text)
    if call.plot and not call.json:
        print(f"\nplot: {call.plot}")
    return 0


def _inputs(call: argparse.Namespace, source: str, timing: Timing) -> dict[str, Any]:
    """What a plan is made for, as JSON has it."""
    return {"source": source, "engine": timing.config, "clock_mhz": call.clock,
            "link_gb_per_s": timing.link * call.clock / 1e3, "latency": call.latency, "lossy": call.lossy,
            "max_error": call.max_error, "codings": _allowed(call, timing.config)}


def _allowed(call: argparse.Namespace, config: EngineConfig) -> tuple[str, ...]:
    """The families of codings that may be chosen."""
    from cdma.workload.plan.codings import allowed

    plain = call.tune or _is_network(call)
    return allowed(config, call.codings or (CODINGS[:1] if plain else None))


def _source(call: argparse.Namespace, default: str) -> str:
    return ", ".join(Path(path).name for path in call.sources) or default


def _tensors(call: argparse.Namespace, sources: list[str], timing: Timing, progress: Progress) -> list[Tensor]:
    """The tensors of dumps, each with all its treatments."""
    from cdma.measure.arrays import named_arrays
    from cdma.workload.plan.choice import dump_tensor

    for option in _NETWORK:
        if getattr(call, option) is not None:
            raise ValueError(f"--{option} is for networks, not for dumps: leave it out, or name a network")
    check_raw_options(call.sources, call.dtype, element=call.element)
    arrays = named_arrays([Path(path) for path in sources], call.array, call.element, call.dtype)
    codings = _allowed(call, timing.config)
    found = []
    for name, array in arrays.items():
        progress("predicting", len(found), len(arrays))
        found.append(dump_tensor(name, array, timing, tuple(dict.fromkeys(call.lossy)), call.max_error, codings))
    return found


def _plan(call: argparse.Namespace, timing: Timing, progress: Progress) -> tuple[Plan, str]:
    """The plan, and its source."""
    if _is_network(call):
        for option in ("array", "element", "hide"):
            if getattr(call, option):
                raise ValueError(f"--{option} is for dumps, not for networks: leave it out")
        return _network(call, timing, progress), call.sources[0]
    from cdma.workload.dumps.steps import titled_step
    from cdma.workload.plan.choice import plan_dump

    tensors = _tensors(call, call.sources, timing, progress)
    names = list(dict.fromkeys(titled_step(tensor.name)[0] for tensor in tensors))
    plan = plan_dump(tensors, hidden(call.hide, names), call.clock)
    return plan, _source(call, "the shipped dump")


def hidden(given: list[tuple[str | None, float]], names: list[str]) -> Hidden:
    """Hidden time of each tensor from ``--hide``, in seconds.

    Raises
    ------
    ValueError
        If it names a tensor that does not exist.
    """
    every = [value for name, value in given if name is None]
    own = {name: value for name, value in given if name is not None}
    for name in own:
        if name not in names:
            raise ValueError(f"--hide names {name}, but the tensors are {', '.join(names)}")
    return lambda name: own.get(name, every[-1] if every else 0.0) / 1e6


def _is_network(call: argparse.Namespace) -> bool:
    """Whether the call names a network; a folder of ``cdma capture`` is one with --gpu, and else a dump."""
    from cdma.workload.networks.captured import captured_in
    from cdma.workload.networks.catalog import NETWORKS

    sources: list[str] = call.sources
    if call.gpu and len(sources) == 1 and captured_in(sources[0]):
        return True
    named = [source for source in sources if source in NETWORKS or source.endswith(".json")]
    if named and len(sources) > 1:
        raise ValueError(f"{named[0]} is a network: plan it alone")
    return bool(named)


def _network(call: argparse.Namespace, timing: Timing, progress: Progress) -> Plan:
    from cdma.workload.plan.network import plan_network
    from cdma.workload.timeline.gpus import gpu
    from cdma.workload.timeline.scenario import Scenario
    from cdma.workload.timeline.swapping import swapped

    if "exponents" in _allowed(call, timing.config):
        raise ValueError("exponents are predicted from values, and of a network only densities are known: leave "
                         "exponents out of --codings, or plan a dump")
    reached = efficiency_of(call)
    device = gpu(call.gpu or "titan-x")
    scenario = Scenario(call.sources[0], device.name, call.batch, density=call.density, densities=call.densities,
                        efficiency=reached, profile=profile_for(call.profile, device.name), dtype=call.dtype,
                        compute=call.compute, positions=call.positions)
    parts = scenario.parts()
    network, compute, fillings = parts.plan, parts.compute, parts.fillings
    return plan_network(network, compute, swapped(network, call.policy or "all", device.memory * 1e9),
                        {name: filling.density for name, filling in fillings.items()}, timing, call.clock,
                        device.bandwidth * 1e9, lossy=tuple(dict.fromkeys(call.lossy)), max_error=call.max_error,
                        codings=_allowed(call, timing.config), progress=progress)


def _link(call: argparse.Namespace) -> float:
    """10^9 bytes a second of the link: as given, that of a network's GPU, or the paper's."""
    from cdma.workload.timeline.gpus import gpu

    return call.link or gpu(call.gpu if call.gpu and _is_network(call) else "titan-x").link_reached


def _iterations(text: str) -> int:
    count = whole_number(text)
    if not 2 <= count <= _MOST_ITERATIONS:
        raise argparse.ArgumentTypeError(f"must be a whole number from 2 to {_MOST_ITERATIONS}, not {text}")
    return count


def _codings(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(text.split(",")))
    if set(found) - set(CODINGS):
        raise argparse.ArgumentTypeError(f"must be names of {', '.join(CODINGS)} with commas between, not {text!r}")
    return found


_RULES = {"plan": "the plan", "always": "always ZVC", "never": "always raw"}
_SHOWN = 4
"""Treatments of a tensor that are written out; of more, only the number is."""


def plan_text(outcome: Mapping[str, Any]) -> str:
    """A row per tensor, then the totals beside always and never compressing, and what rounding changes."""
    tensors, totals = outcome["tensors"], outcome["totals"]
    unit, scale = ("ms", 1e-3) if totals["always"]["transfer_us"] > 1e4 else ("us", 1.0)

    def time(what: str) -> Column:
        return Column(f"{what} {unit}", lambda row: row[f"{what.removesuffix('s')}_us"] * scale, ".2f")

    error = Column("max error", lambda row: row["error"] if row["lossy"] else None, ".2e", optional=True)
    rows = Table([Column("tensor", "name"), Column("bytes", "raw_bytes", ","), Column("density", "density", ".3f"),
                  Column("choice", "treatment"), Column("packed", "packed_bytes", ","), Column("ratio", "ratio", ".3f"),
                  time("offload"), time("prefetch"), time("exposed"), error], tensors)
    rules = Table([Column("all tensors", "rule"), Column("link bytes", "packed_bytes", ","),
                   Column("ratio", "ratio", ".3f"), time("transfers"), time("exposed")],
                  [{"rule": _RULES[rule], **total} for rule, total in totals.items()])
    engine, steps = outcome["engine"], max(len(row["arrays"]) for row in tensors)
    about = (f"{outcome['source']} on {engine.name}: {lanes_text(engine.lanes, engine.beat_bytes)} at "
             f"{outcome['clock_mhz']:g} MHz, a link of {outcome['link_gb_per_s']:g} GB/s")
    if outcome["latency"]:
        about += f", memories answer after {outcome['latency']} cycles"
    if steps > 1:
        about += f"; per layer, the mean of {steps} steps of training"
    parts = [f"{about}:", rows.text(), rules.text()]
    rounded = [row for row in tensors if row["rounding"] is not None]
    if rounded:
        parts.append(Table([
            Column("rounded", "name"), Column("max error", "rounding.max_abs", ".2e"),
            Column("by largest", "error", ".2e"), Column("mean relative", "rounding.mean_relative", ".2e"),
            Column("to zero", "rounding.underflows", ","), Column("NaNs kept", "rounding.nans", ","),
            Column("infinities kept", "rounding.infinities", ",")], rounded).text())
    return "\n\n".join(parts)


def tuning_text(outcome: Mapping[str, Any]) -> str:
    """A row per rule, then what the controller did with each tensor."""
    best = outcome["rows"][-1]["exposed_us"]
    rules = Table([
        Column("rule", "rule"), Column("exposed us", "exposed_us", ".1f"),
        Column("over best", lambda row: row["exposed_us"] / best - 1 if best else None, "+.1%"),
        Column("link bytes", "link_bytes", ","), Column("rounded", "lossy", ".0%"),
        Column("switches", lambda row: row["switches"] or None, ","),
        Column("trials", lambda row: row["trials"] or None, ","),
        Column("trials us", lambda row: row["trial_cost_us"] if row["trials"] else None, ".1f")], outcome["rows"])
    tensors = Table([
        Column("tensor", "name"), Column("bytes", "raw_bytes", ","),
        Column("density: first", "first_density", ".3f"), Column("last", "last_density", ".3f"),
        Column("treatments from iteration, without trials", lambda row: _runs(row["runs"]), left=True)],
        outcome["tensors"])
    return (f"{outcome['source']} on {outcome['engine'].name} at {outcome['clock_mhz']:g} MHz, a link of "
            f"{outcome['link_gb_per_s']:g} GB/s; {outcome['iterations']} iterations:\n\n{rules.text()}\n\n"
            f"{tensors.text()}")


def _runs(runs: Sequence[Mapping[str, Any]]) -> str:
    """The treatments that were used, without those that were tried for one iteration."""
    kept: list[Mapping[str, Any]] = []
    for run in runs:
        if run["first"] == run["last"] and len(runs) > 1:
            continue
        if not kept or kept[-1]["treatment"] != run["treatment"]:
            kept.append(run)
    shown = ", ".join(f"{run['first']}: {run['treatment']}" for run in kept[:_SHOWN])
    return shown + (f" and {len(kept) - _SHOWN} more" if len(kept) > _SHOWN else "")
