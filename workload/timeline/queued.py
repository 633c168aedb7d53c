"""The timeline of a training step with asynchronous swapping: a queue of transfers instead of a wait at each layer.

This is what swapping in today's frameworks does: torchtitan, Transformer Engine, torchtune's activation offloading.
:mod:`cdma.workload.timeline.schedule` has vDNN's, which waits at each layer. The rules:

1. **Two directions.** Offloads and prefetches have a queue each, in order, one transfer at a time. Both queues may be
   busy at the same time, because PCIe and NVLink are full duplex, and so is the engine.
2. **Offload.** A tensor enters the queue when the last step that writes it ends; the network's input, at the beginning.
   Its memory is free when it was sent and the last step of forward that reads it has ended.
3. **Look-ahead in forward.** Tensors that no later step of forward reads, and that were not sent yet, *wait for the
   link*. A step of forward begins when they fit the memory that it leaves free, or, if the look-ahead is a number of
   blocks, when all of them are of its block and that many before.
4. **The turn.** A tensor that still waits when backward begins stays on the device: it is not swapped in this step. So
   does the one that is on the link; its transfer ends all the same. Backward begins when what stays fits its steps.
5. **Prefetch.** Tensors come back in the order in which backward needs them. One begins if the running step or the next
   one needs it, or if it fits the memory that is free until then, or if it is of the block of the next one or of that
   many behind it. A step of backward begins when the tensors that it needs are there.
6. **Memory bandwidth.** A step ends when its own time has passed and its own traffic has been moved, with the bandwidth
   that transfers in both directions leave. This is the same rule as without a queue.
7. **Memory on the device** includes the tensors that wait, and those that came back early.

Without free memory, a step waits for the same tensors as with a wait at each layer, but a tensor that is written long
before its last use leaves earlier. A *block* is what frameworks call a layer: a transformer block, an inception
module; successive steps whose names begin alike, or a step for itself.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from cdma.workload.networks.tensors import Tensors
from cdma.workload.timeline.compute import Compute
from cdma.workload.timeline.schedule import Move, Slot, Timeline, Transfer
from cdma.workload.timeline.swapping import most_bytes, use_by_step

__all__ = ["Ahead", "queued"]

_BLOCK = re.compile(r"[^/]*(?=/)|(?:[^.]*\.)*?\d+(?=\.)")  # block1/norm1, fire2/expand1x1, model.layers.0.mlp.up


@dataclass(frozen=True)
class Ahead:
    """How far transfers may be behind computing in forward, and in front of it in backward.

    Parameters
    ----------
    memory, blocks
        The limit, in one of the two: the bytes of the device, of which each step leaves some free; or a number of
        blocks, as frameworks are told it. None for both is no limit.
    """

    memory: float | None = None
    blocks: int | None = None

    def __post_init__(self) -> None:
        if self.memory is not None and self.blocks is not None:
            raise ValueError("a look-ahead has a limit in memory or in blocks, not both")
        if (self.memory or 0) < 0 or (self.blocks or 0) < 0:
            raise ValueError("a look-ahead must be 0 or more")

    def __str__(self) -> str:
        if self.blocks is not None:
            return f"{self.blocks} {'block' if self.blocks == 1 else 'blocks'}"
        return "no limit" if self.memory is None else f"as far as {self.memory / 1e9:g} GB allow"


def queued(plan: Tensors, compute: Sequence[Compute], chosen: Iterable[str], transfer: Transfer, bandwidth: float,
           ahead: Ahead, again: Mapping[str, int] | None = None) -> Timeline:
    """The timeline of one training step by the rules of this module.

    Parameters
    ----------
    plan, compute, chosen, transfer, bandwidth, again
        As for :func:`cdma.workload.timeline.schedule.run`.
    ahead
        The look-ahead.
    """
    return _Run(plan, compute, frozenset(chosen), transfer, bandwidth, ahead, again or {}).timeline()


class _Run:
    """A training step, from event to event: ends of transfers and of computing."""

    def __init__(self, plan: Tensors, compute: Sequence[Compute], chosen: frozenset[str], transfer: Transfer,
                 bandwidth: float, ahead: Ahead, again: Mapping[str, int]) -> None:
        self._plan, self._compute, self._transfer = plan, compute, transfer
        self._bandwidth, self._ahead, self._again = bandwidth, ahead, again
        self._limit = float("inf") if ahead.memory is None else ahead.memory
        self._chosen = {name: tensor for name, tensor in plan.tensors.items() if name in chosen}
        names = [found[0] if (found := _BLOCK.match(step.name)) else step.name for step in plan.steps]
        self._block = list(accumulate((one != other for one, other in pairwise(names)), initial=0))
        # Bytes on the device in each step, of backward with the tensors that stay and that come earlier than they must.
        self._forward, self._backward = use_by_step(plan, chosen, again)
        self._need = {name: max(tensor.kept) for name, tensor in self._chosen.items()}
        self._last_use = {name: tensor.last_use for name, tensor in self._chosen.items()}
        self._completed: dict[int, list[str]] = {}      # what each step writes last; -1 is the beginning
        for name, tensor in self._chosen.items():
            self._completed.setdefault(max(tensor.written, default=-1), []).append(name)
        self._clock = 0.0
        self._queues: dict[str, deque[str]] = {"offload": deque(), "prefetch": deque()}
        self._busy: dict[str, Move] = {}
        self._done: dict[str, set[str]] = {"offload": set(), "prefetch": set()}
        self._moves: list[Move] = []
        self._ran: list[tuple[int, str, float, float, float, float]] = []
        self._stays: frozenset[str] = frozenset()
        self._number = 0                        # the step that computes, or that computed last
        self._leaves: dict[str, int] = {}       # the last step of forward with the tensor on the device
        self._comes: dict[str, int] = {}        # the first step of backward with it, which has the highest number

    def timeline(self) -> Timeline:
        steps = len(self._plan.steps)
        self._enqueue(-1)
        for number in range(steps):
            start = self._clock
            self._wait(lambda at=number: self._may_run(at))
            self._number = number
            for name in self._chosen.keys() - self._done["offload"]:
                self._leaves[name] = number
            self._step(number, "forward", start)
            self._enqueue(number)
        turn = self._clock
        self._turn()
        for number in reversed(range(steps)):
            start = turn if number == steps - 1 else self._clock
            needed = {name for name, step in self._need.items() if step == number and name not in self._stays}
            self._wait(lambda names=needed: names <= self._done["prefetch"])
            self._number = number
            self._step(number, "backward", start)
        last = {name: max(tensor.last_use, self._leaves.get(name, 0)) for name, tensor in self._chosen.items()}
        last |= {name: self._plan.tensors[name].last_use for name in self._again}
        sent: dict[tuple[str, int], list[Move]] = {}
        for move in self._moves:
            due = self._last_use if move.direction == "offload" else self._need
            sent.setdefault((move.direction, due[move.tensors[0]]), []).append(move)
        slots = tuple(self._slot(sent, *ran) for ran in self._ran)
        return Timeline(slots, most_bytes(self._plan, last, self._comes | dict(self._again)), tuple(self._moves))

    def _enqueue(self, number: int) -> None:
        """Queue the tensors that a step has completed; -1 is the beginning."""
        self._queues["offload"].extend(self._completed.get(number, ()))

    def _may_run(self, number: int) -> bool:
        """Whether a step of forward may begin, as far as tensors wait for the link."""
        late = [name for name in self._chosen.keys() - self._done["offload"] if self._last_use[name] < number]
        if self._ahead.blocks is not None:
            return all(self._block[self._last_use[name]] >= self._block[number] - self._ahead.blocks for name in late)
        return sum(self._chosen[name].size for name in late) <= max(self._limit - self._forward[number], 0)

    def _turn(self) -> None:
        """From forward to backward: what was not sent stays; the rest is queued in the order of its use."""
        last = len(self._plan.steps) - 1
        self._wait(lambda: all(used <= self._limit for used, without in
                               zip(self._with_stays(), self._backward, strict=True) if used > without))
        self._queues["offload"].clear()
        self._backward = self._with_stays()
        self._stays = frozenset(self._chosen.keys() - self._done["offload"])
        self._comes.update(dict.fromkeys(self._stays, last))
        self._number = last + 1
        away = (name for name in self._chosen if name not in self._stays)
        self._queues["prefetch"].extend(sorted(away, key=lambda name: -self._need[name]))

    def _with_stays(self) -> list[int]:
        """Bytes in each step of backward, with the tensors that were not sent."""
        more = [0] * (len(self._backward) + 2)
        for name in self._chosen.keys() - self._done["offload"]:
            more[self._need[name] + 2] += self._chosen[name].size
        return [used + extra for used, extra in zip(self._backward, accumulate(more), strict=False)]

    def _early(self, name: str) -> range:
        """The steps of backward in which a tensor is there earlier than it must, if its prefetch begins now."""
        return range(self._need[name] + 2, min(self._number + 1, len(self._backward)))

    def _may_come(self, name: str) -> bool:
        """Whether the prefetch of a tensor may begin."""
        early, next_step = self._early(name), self._number - 1
        if not early or self._ahead.blocks is None:
            return all(self._backward[step] + self._chosen[name].size <= self._limit for step in early)
        return self._block[self._need[name]] >= self._block[next_step] - self._ahead.blocks

    def _begin_transfers(self) -> None:
        for direction, queue in self._queues.items():
            while queue and direction not in self._busy and (direction == "offload" or self._may_come(queue[0])):
                name = queue.popleft()
                size = self._chosen[name].size
                end = self._clock + self._transfer(name, direction, size)
                move = Move(direction, (name,), self._clock, end, size)
                self._moves.append(move)
                if direction == "prefetch":
                    self._comes[name] = min(self._number, len(self._plan.steps) - 1)
                    for step in self._early(name):
                        self._backward[step] += size
                if move.end > self._clock:
                    self._busy[direction] = move
                else:
                    self._done[direction].add(name)

    def _pass(self, until: float) -> None:
        """Time passes; transfers that end by then are complete."""
        self._clock = until
        for direction, move in list(self._busy.items()):
            if move.end <= until:
                del self._busy[direction]
                self._done[direction].update(move.tensors)

    def _wait(self, ready: Callable[[], bool]) -> None:
        self._begin_transfers()
        while not ready():
            self._pass(min(move.end for move in self._busy.values()))
            self._begin_transfers()

    def _step(self, number: int, direction: str, start: float) -> None:
        work, begin = self._compute[number], self._clock
        alone = work.forward if direction == "forward" else work.backward
        traffic = work.forward_traffic if direction == "forward" else work.backward_traffic
        # Measured times may be shorter than the traffic allows; alone they are what they are.
        left, traffic = alone, min(traffic, alone * self._bandwidth)
        self._begin_transfers()
        while left > 0 or traffic > 0:
            free = max(self._bandwidth - sum(move.bytes / (move.end - move.start) for move in self._busy.values()), 0.0)
            moving = 0.0 if traffic <= 0 else traffic / free if free else float("inf")
            end = self._clock + max(left, moving)
            until = min([end, *(move.end for move in self._busy.values())])
            passed = until - self._clock
            left, traffic = (0.0, 0.0) if until == end else (left - passed, traffic - free * passed)
            self._pass(until)
            self._begin_transfers()
        self._ran.append((number, direction, start, begin, self._clock, alone))

    def _slot(self, sent: Mapping[tuple[str, int], Sequence[Move]], number: int, direction: str, start: float,
              begin: float, end: float, alone: float) -> Slot:
        """A step, with the tensors that were sent at their last use in it, or that it needed back."""
        moves = sent.get(("offload" if direction == "forward" else "prefetch", number), ())
        return Slot(self._plan.steps[number].name, direction, start, end, end - begin, alone,
                    sum(move.end - move.start for move in moves), sum(move.bytes for move in moves),
                    tuple(move.tensors[0] for move in moves), begin - start)
