"""Self-tuning: decisions counted by hand, noise, drift, and what a training run costs beside fixed rules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.hdl.config.engine import EngineConfig
from cdma.report.plots.tuning import picture
from cdma.workload.data import DIGITS
from cdma.workload.dumps import load
from cdma.workload.plan import tuning
from cdma.workload.plan.choice import dump_tensor, network_tensor
from cdma.workload.plan.cycles import Timing
from cdma.workload.plan.options import Tensor
from cdma.workload.plan.treatments import Treatment
from cdma.workload.plan.tuning import GAIN, Controller, Counts
from cdma.workload.plan.tuning_replay import Replay, Row, replay, tracks

TIMING = Timing(EngineConfig(narrowing=True), link=12.8)
SIZE = 1 << 18
RAW, ZVC, LOSSY = Treatment("zvc32", leave_raw=True), Treatment("zvc32"), Treatment("zvc16", narrow=1)


def counts(density: float, how: Treatment) -> Counts:
    """What the engine would count in a tensor that is filled evenly."""
    option = next(each for each in network_tensor("t", SIZE, 4, density, TIMING, ("bfloat16",)).options
                  if each.how == how)
    return Counts(option.packed_bytes, option.nonzero, option.raw_blocks, option.offload_cycles,
                  option.prefetch_cycles)


def run(controller: Controller, densities: Sequence[float]) -> list[str]:
    """The treatments of a run of iterations."""
    names = []
    for density in densities:
        how = controller.next()
        names.append(how.name)
        controller.done(counts(density, how))
    return names


def changes(names: Sequence[str]) -> int:
    return sum(one != other for one, other in pairwise(names))


# Of SIZE raw bytes: 20.5 k cycles each way when raw, 8.9 k at density 0.4, 12.9 k at density 0.6.
HALF_HIDDEN = 11_000.0


def test_sparse_and_exposed_stays_coded() -> None:
    controller = Controller(SIZE, [RAW, ZVC], TIMING)
    assert set(run(controller, [0.4] * 100)) == {"zvc32"}
    assert controller.switches == controller.trials == 0


def test_hidden_goes_raw_after_three_iterations() -> None:
    controller = Controller(SIZE, [RAW, ZVC, LOSSY], TIMING, hidden=30_000.0)
    assert run(controller, [0.4] * 10) == ["zvc32"] * 3 + ["raw"] * 7
    assert controller.switches == 1


def test_dense_goes_raw_and_comes_back_by_the_counts_alone() -> None:
    controller = Controller(SIZE, [RAW, ZVC], TIMING)
    assert run(controller, [1.0] * 6) == ["zvc32"] * 3 + ["raw"] * 3
    # It becomes sparse: the non-zero elements of three raw transfers tell.
    assert run(controller, [0.5] * 6) == ["raw"] * 3 + ["zvc32"] * 3


def test_lossy_only_while_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "PERIOD", 1000)
    controller = Controller(SIZE, [RAW, ZVC, LOSSY], TIMING, hidden=HALF_HIDDEN)
    # At density 0.6 coding alone is exposed; at 0.4 it is hidden with a reserve.
    assert run(controller, [0.6] * 6) == ["zvc32"] * 3 + ["bfloat16+zvc16"] * 3
    assert run(controller, [0.4] * 6) == ["bfloat16+zvc16"] * 3 + ["zvc32"] * 3
    assert run(controller, [0.6] * 6) == ["zvc32"] * 3 + ["bfloat16+zvc16"] * 3


def test_patience_starts_again_when_it_was_not_so(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller(SIZE, [RAW, ZVC, LOSSY], TIMING, hidden=HALF_HIDDEN)
    assert set(run(controller, [0.6, 0.6, 0.4] * 5)) == {"zvc32"}
    for name, value in (("PATIENCE", 1), ("PERIOD", 1000)):
        monkeypatch.setattr(tuning, name, value)
    impatient = Controller(SIZE, [RAW, ZVC, LOSSY], TIMING, hidden=HALF_HIDDEN)
    assert run(impatient, [0.6, 0.4, 0.6]) == ["zvc32", "bfloat16+zvc16", "zvc32"]


def test_noise_around_the_edge_does_not_flap(monkeypatch: pytest.MonkeyPatch) -> None:
    # Coding is just hidden at density 0.5, and noise crosses that in every other iteration.
    noise = 0.5 + 0.01 * np.random.default_rng(7).standard_normal(400)
    edge = counts(0.5, ZVC).offload_cycles
    careful = Controller(SIZE, [RAW, ZVC, LOSSY], TIMING, hidden=edge)
    assert changes(run(careful, noise.tolist())) <= 4
    for name, value in (("GAIN", 0.0), ("RESERVE", 0.0), ("PATIENCE", 1)):
        monkeypatch.setattr(tuning, name, value)
    eager = Controller(SIZE, [RAW, ZVC, LOSSY], TIMING, hidden=edge)
    assert changes(run(eager, noise.tolist())) > 100


def test_other_elements_are_tried_ever_more_rarely() -> None:
    controller = Controller(SIZE, [ZVC, Treatment("zvc16")], TIMING)
    names = run(controller, [0.5] * 800)
    at = [number for number, name in enumerate(names) if name == "zvc16"]
    # The first after 25 iterations, and from each to the next twice as long, the iteration of the trial on top.
    assert at == [25, 76, 177, 378, 779]
    assert (controller.trials, controller.switches) == (5, 0)


def test_what_counts_do_not_tell_is_found_by_trying() -> None:
    # float32 whose lower halves are zero: dense in 32-bit elements, half empty in 16-bit ones.
    array = (np.arange(1, SIZE // 4 + 1).astype("<u4") << 16).view(np.float32)
    options = {option.how: option for option in dump_tensor("t", array, TIMING, codings=["zvc"]).options}
    controller = Controller(SIZE, list(options), TIMING)
    names = []
    for _ in range(60):
        how = controller.next()
        names.append(how.name)
        option = options[how]
        controller.done(Counts(option.packed_bytes, option.nonzero, option.raw_blocks, option.offload_cycles,
                               option.prefetch_cycles))
    assert names[3:25] == ["raw"] * 22
    # Both others are tried, and three iterations later one of them stays.
    assert names[25:28] == ["zvc16", "zvc8", "raw"]
    assert names[28:50] == ["zvc16"] * 22


def test_raw_and_lossy_are_never_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("GAIN", 0.5), ("PERIOD", 2)):
        monkeypatch.setattr(tuning, name, value)
    controller = Controller(SIZE, [RAW, ZVC, Treatment("zvc16"), LOSSY], TIMING)
    assert set(run(controller, [0.5] * 100)) == {"zvc32", "zvc16"}


def test_a_controller_needs_treatments() -> None:
    with pytest.raises(ValueError, match="no treatment"):
        Controller(SIZE, [], TIMING)


# Training runs.

def tensor(name: str, density: float, lossy: Sequence[str] = ()) -> Tensor:
    return network_tensor(name, SIZE, 4, density, TIMING, lossy)


def rows(done: Replay) -> dict[str, Row]:
    return {row.name: row for row in done.rows}


def test_counts_between_two_steps_lie_on_lines() -> None:
    (track,) = tracks([tensor("step0/a", 0.2), tensor("step10/a", 0.4), tensor("step40/a", 0.4)], 41)
    first, second = counts(0.2, ZVC), counts(0.4, ZVC)
    assert track.at(1, 0) == first
    assert track.at(1, 5).nonzero == pytest.approx((first.nonzero + second.nonzero) / 2)
    assert track.at(1, 10) == track.at(1, 40) == second
    assert track.density[[0, 5, 10, 40]] == pytest.approx([0.2, 0.3, 0.4, 0.4])


def test_rules_by_hand() -> None:
    several = tracks([tensor("p000/a", 0.4), tensor("p100/a", 0.4)], 10)
    done = rows(replay(several, TIMING, lambda name: 10e-6, 1000.0))
    raw, zvc = counts(0.4, RAW), counts(0.4, ZVC)
    # 10 us hide coded transfers of 8.9 us, not raw ones of 20.5 us.
    assert done["always"].exposed.sum() == 0
    assert done["never"].exposed.sum() * 1e6 == pytest.approx(
        10 * (raw.offload_cycles + raw.prefetch_cycles - 20_000) / 1000)
    assert done["never"].link_bytes == 10 * raw.bytes_written
    assert done["tuned"].link_bytes == done["best of each iteration"].link_bytes == 10 * zvc.bytes_written


@settings(deadline=None, max_examples=25)
@given(st.lists(st.floats(0.05, 1), min_size=2, max_size=6), st.sampled_from([0.0, 5.0, 11.0, 15.0]))
def test_regret(densities: list[float], hide: float) -> None:
    """Beside never and always, a run loses the trials, the gain that is not worth a change, and lag."""
    several = tracks([tensor(f"step{100 * at}/a", density) for at, density in enumerate(densities)],
                     100 * (len(densities) - 1) + 1)
    done = rows(replay(several, TIMING, lambda name: hide / 1e6, 1000.0))
    tuned, best = done["tuned"], done["best of each iteration"]
    iterations = tuned.exposed.size
    whole = 2 * SIZE / 12.8e9
    # Of slow drift, no iteration but those of trials and of waiting loses more than the gain and the rough estimate.
    lost = tuned.exposed - best.exposed
    slack = (GAIN + 0.02) * whole
    assert np.count_nonzero(lost > slack) <= tuned.trials + 3 * (tuned.switches + 1)
    for other in ("never", "always"):
        assert tuned.exposed.sum() <= (done[other].exposed.sum() + tuned.trial_cost + slack * iterations
                                       + 3 * (tuned.switches + 1) * slack)


def test_the_shipped_run() -> None:
    several = [dump_tensor(name, array, TIMING) for name, array in load(DIGITS).items()]
    done = replay(tracks(several, 200), TIMING, lambda name: 2e-6, 1000.0)
    found = rows(done)
    assert found["best of each iteration"].exposed.sum() <= found["best for the run"].exposed.sum() * (1 + 1e-9)
    # Tuning costs its trials, and no more.
    assert found["tuned"].exposed.sum() <= found["always"].exposed.sum() + found["tuned"].trial_cost + 1e-12
    assert found["tuned"].exposed.sum() < 0.5 * found["never"].exposed.sum()
    drawn = picture(done, "a <run>")
    assert drawn.startswith("<svg") and "a &lt;run&gt;" in drawn and "conv4: zvc32" in drawn


def test_lossy_beside_always_lossy() -> None:
    several = [dump_tensor(name, array, TIMING, ("bfloat16",), codings=["zvc"]) for name, array in load(DIGITS).items()]
    found = rows(replay(tracks(several, 200), TIMING, lambda name: 2e-6, 1000.0))
    assert found["always lossy"].lossy == 1.0 and found["always"].lossy == 0.0
    # Fewer tensors are rounded, and little is added to what rounding all would leave.
    assert found["best of each iteration"].lossy - 0.1 < found["tuned"].lossy < 0.9
    assert found["tuned"].exposed.sum() < 1.25 * found["always lossy"].exposed.sum()


@pytest.mark.parametrize(("names", "iterations", "says"), [
    (["p000/a"], 10, "one step of training alone"), (["a", "b"], 10, "a names no step"),
    (["p000/a", "p100/a"], 1, "2 iterations or more")])
def test_runs_that_are_none(names: list[str], iterations: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        tracks([tensor(name, 0.5) for name in names], iterations)


def test_a_layer_of_two_sizes() -> None:
    other = network_tensor("p100/a", 2 * SIZE, 4, 0.5, TIMING)
    with pytest.raises(ValueError, match="a has 262144 bytes at one step"):
        tracks([tensor("p000/a", 0.5), other], 10)
