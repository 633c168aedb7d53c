"""The inputs of a timeline: network, GPU, link, engine, policy of swapping, densities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cdma.workload.networks.captured import Captured, captured_in, read_captured
from cdma.workload.networks.catalog import load_network
from cdma.workload.networks.tensors import Tensors, tensors
from cdma.workload.timeline.compute import Compute, profiled, roofline
from cdma.workload.timeline.densities import Filling, default_fillings, fillings_from_file
from cdma.workload.timeline.efficiency import EFFICIENCY, Efficiency
from cdma.workload.timeline.engine_share import constant, from_file, measured
from cdma.workload.timeline.gpus import Gpu, gpu
from cdma.workload.timeline.profiles import Profile, captured_profile
from cdma.workload.timeline.queued import Ahead
from cdma.workload.timeline.schedule import Engine
from cdma.workload.timeline.study import SCHEDULES, Study, study
from cdma.workload.timeline.swapping import swapped

__all__ = ["CLOCK_MHZ", "LINK", "PRESET", "Parts", "Scenario", "build_engine", "suiting_preset"]

PRESET = "paper"
"""The default engine of the model, with the paper's six memory controllers."""
WIDE = "wide"
"""The engine for faster links."""
LINK = 12.8
"""10^9 bytes a second that Rhu et al. measured on PCIe 3 with 16 lanes."""
CLOCK_MHZ = 1000.0


def build_engine(preset: str = PRESET, clock_mhz: float = CLOCK_MHZ, lanes: int | None = None,
                 beat_bytes: int | None = None, share: float | str | None = None) -> Engine:
    """The engine of a preset, with its measured cycles.

    Parameters
    ----------
    preset
        One of :func:`cdma.workload.timeline.engine_share.presets`.
    clock_mhz
        Its clock.
    lanes, beat_bytes
        Dimensions in place of the preset's; the shares of the preset at the same balance are used.
    share
        A share of the limit in place of the measured ones, or a file with figures of ``cdma bench``.

    Raises
    ------
    ValueError
        If there is no such preset, or the share or file is not allowed.
    """
    known = measured(preset)
    lanes = known.lanes if lanes is None else lanes
    reach = known if share is None else from_file(share, lanes) if isinstance(share, str) else constant(share)
    return Engine(lanes, known.beat_bytes if beat_bytes is None else beat_bytes, known.link_beat_bytes, clock_mhz,
                  reach)


def suiting_preset(link: float) -> str:
    """The paper's engine, or the wide one where the port of the paper's would limit a link of 10^9 bytes a second."""
    return PRESET if link <= measured(PRESET).link_beat_bytes * CLOCK_MHZ / 1e3 else WIDE


@dataclass(frozen=True)
class Parts:
    """What a scenario comes to: the GPU, steps and tensors of the network, times of the steps, and fillings."""

    device: Gpu
    plan: Tensors
    compute: Sequence[Compute]
    fillings: Mapping[str, Filling]


@dataclass(frozen=True)
class Scenario:
    """The inputs of a timeline.

    Parameters
    ----------
    network
        Name or path, see :func:`cdma.workload.networks.catalog.load_network`, or a folder that was captured.
    gpu
        Name, see :data:`cdma.workload.timeline.gpus.GPUS`.
    batch, dtype, compute, positions
        Samples of a step, type of values, type of matrix products, and length of a sequence; None takes the network's
        own.
    policy, least_bytes, use, budget
        What is swapped (``budget`` in 10^9 bytes), see :func:`cdma.workload.timeline.swapping.swapped`.
    memory
        10^9 bytes of device memory; None takes the GPU's.
    link
        10^9 bytes a second of the link; None takes 80 % of the rate of the GPU's own.
    engine
        The engine.
    density, densities
        Density of all tensors after a ReLU, and a dump or file of densities by tensor; None takes the table's.
    drift
        The table's densities are multiplied by it: how they change while a network trains.
    efficiency
        Shares of the GPU's peaks that layers reach; a number is that of convolutions and products.
    profile
        File with the user's own times, in place of the roofline.
    schedule, ahead
        When transfers wait, one of :data:`cdma.workload.timeline.study.SCHEDULES`, and the look-ahead of ``queue``;
        None is as far as the device's memory allows.
    shards
        GPUs that share the weights, as with FSDP: each has this part of the weights' copies.
    """

    network: str
    gpu: str = "titan-x"
    batch: int | None = None
    policy: str = "all"
    least_bytes: int = 1 << 20
    use: float = 0.5
    memory: float | None = None
    link: float | None = None
    engine: Engine = field(default_factory=build_engine)
    density: float | None = None
    densities: str | None = None
    efficiency: Efficiency | float = EFFICIENCY
    profile: Profile | None = None
    schedule: str = SCHEDULES[0]
    ahead: Ahead | None = None
    dtype: str | None = None
    compute: str | None = None
    positions: int | None = None
    drift: float = 1.0
    budget: float | None = None
    shards: int = 1

    @property
    def device_memory(self) -> float:
        """10^9 bytes of device memory."""
        return gpu(self.gpu).memory if self.memory is None else self.memory

    @property
    def link_reached(self) -> float:
        """10^9 bytes a second of the link."""
        return gpu(self.gpu).link_reached if self.link is None else self.link

    @cached_property
    def captured(self) -> Captured | None:
        """The captured network, if the name is that of a folder.

        Raises
        ------
        ValueError
            If the folder has none, or batch, type or positions of a captured network are to be others.
        """
        if not captured_in(self.network):
            return None
        if (self.batch, self.dtype, self.positions) != (None, None, None):
            raise ValueError(f"{self.network} was captured as it is: leave --batch, --dtype and --positions out, or "
                             "capture a training with others")
        return read_captured(self.network, self.compute)

    @property
    def times(self) -> Profile | None:
        """The user's own times, or those of the capture if they were measured on this GPU; None for the roofline."""
        if self.profile is not None or self.captured is None:
            return self.profile
        own = captured_profile(self.captured)
        return own if own is not None and own.suits(gpu(self.gpu)) else None

    def parts(self) -> Parts:
        """The network with times and fillings, and the GPU.

        Raises
        ------
        ValueError
            If a name, number or file is not allowed.
        """
        device = gpu(self.gpu)
        plan = self.captured.tensors if self.captured else \
            tensors(load_network(self.network, self.batch, self.dtype, self.compute, self.positions))
        if self.shards < 1:
            raise ValueError(f"the weights are shared by 1 GPU or more, not {self.shards}")
        plan = replace(plan, shards=self.shards)
        times = self.times
        compute = profiled(plan, times.layers) if times else roofline(plan, device, self.efficiency)
        densities = self.densities or (self.network if self.captured else None)
        fillings = fillings_from_file(densities, plan, self.density) if densities \
            else default_fillings(plan, self.density, self.drift)
        return Parts(device, plan, compute, fillings)

    def study(self, progress: Callable[[str, int, int], None] | None = None) -> Study:
        """The timelines of all rows.

        Raises
        ------
        ValueError
            If a name, number or file is not allowed.
        """
        parts = self.parts()
        budget = None if self.budget is None else self.budget * 1e9
        chosen = swapped(parts.plan, self.policy, self.device_memory * 1e9, self.least_bytes, self.use, budget)
        return study(parts.plan, parts.compute, parts.device, chosen, parts.fillings, self.engine,
                     self.link_reached * 1e9, progress, self.schedule, self.ahead,
                     self.device_memory * 1e9)
