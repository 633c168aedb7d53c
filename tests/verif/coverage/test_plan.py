"""The plan has bins for every status, register, coding, coded form and option, so that a new one needs bins."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import fields

import pytest

from cdma.golden.codec.narrowing import Narrowing
from cdma.golden.engine import Completion, Operation, Status
from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.engine.control.register import Access
from cdma.hdl.engine.control.table import registers, with_options
from cdma.measure.options import OPTIONS, OPTIONS_OF
from cdma.verif.common import cover
from cdma.verif.coverage.plan import ACCESS, DIRECTIONS, NOT_COVERED, ONLY_OFFLOAD, ONLY_PREFETCH, PLAN, Feature
from cdma.verif.engine.memory import CHANNELS
from cdma.verif.engine.parameter_bins import PARAMETERS, parameter_bin
from cdma.verif.engine.sampling import Sampler
from tests.verif.engine.sweep import EVERY

_BINS = {each.name: each.bins for each in PLAN}


def _second(name: str) -> set[str]:
    return {each.split(":")[1] for each in _BINS[name]}


def test_names_of_features_are_different_and_each_says_what_must_be_seen() -> None:
    assert len({each.name for each in PLAN}) == len(PLAN)
    assert all(each.about.endswith(".") and each.room for each in PLAN)


@pytest.mark.parametrize("status", Status, ids=lambda status: status.name)
def test_every_status_has_bins_in_a_direction(status: Status) -> None:
    wanted = {f"{direction}:{status.name}" for direction in DIRECTIONS
              if not (status in ONLY_OFFLOAD and direction == "prefetch")
              and not (status in ONLY_PREFETCH and direction == "offload")}
    assert wanted and wanted <= set(_BINS["status"])


def test_every_status_but_those_of_refused_descriptors_is_crossed_with_memories_that_stall() -> None:
    crossed = {each.split(":")[0] for each in _BINS["status_stall"]}
    assert crossed == {each.name for each in Status if each >= 0x10 or each is Status.OK} - {
        "DESCRIPTOR_READ_ERROR", "DESCRIPTOR_READ_TIMEOUT"}


def test_every_fault_is_crossed_with_codings_places_and_page_lists() -> None:
    rings = {"DESCRIPTOR_READ_ERROR", "DESCRIPTOR_READ_TIMEOUT"}
    faults = {each.name for each in Status if each >= 0x10} - rings
    assert set(_BINS["status_coding"]) == {f"{status}:{coding}" for status in faults | {"OK"} for coding in CODINGS}
    assert {each.split(":")[0] for each in _BINS["status_place"]} == {each.name for each in Status} - rings
    assert _second("status_pages") == faults
    assert {each.split(":")[1] for each in _BINS["status_pages"] if each.endswith(":list")} == faults
    assert {status for status in faults if f"offload:{status}:no list" not in _BINS["status_pages"]
            and f"prefetch:{status}:no list" not in _BINS["status_pages"]} == {
                status for status in faults if status.startswith("PAGE_")} - {"PAGE_LIST_READ_TIMEOUT"}


def test_registers_and_options_are_apart_from_behaviour() -> None:
    access = {each.name for each in PLAN if each.room in ACCESS}
    assert access == {"register_read", "register_rw", "register_wo", "register_w1c", "register_w1s",
                      "interrupt_written", "counters", "coalescing", "time_limit", "link_ratio", "coding",
                      *(f"option_{name}" for name in PARAMETERS)}


@pytest.mark.parametrize("register", list(registers(with_options(load_engine("engine")))), ids=lambda each: each.name)
def test_every_register_is_read_and_every_writable_one_written(register) -> None:
    assert register.name in _BINS["register_read"]
    for access in {field.access for field in register.fields} - {Access.RO}:
        assert register.name in _BINS[f"register_{access.name.lower()}"]


@pytest.mark.parametrize("coding", CODINGS)
def test_every_coding_has_blocks_lines_and_builds(coding: str) -> None:
    assert coding in _second("block") & _second("line")
    assert f"{coding}:built" in _BINS["coding"]
    assert coding in {each.split(":")[0] for each in _BINS["block_core"]}


def test_every_error_of_the_cores_and_every_narrow_form_has_a_bin() -> None:
    assert {each.name for each in ErrorCode} == {each.split(":")[2] for each in _BINS["line_core"]}
    assert {each.name for each in PayloadError} == _second("block_core")
    forms = {each.split(":")[2] for each in _BINS["narrowed"]}
    assert forms == {form.name.lower() for form in Narrowing if form}


def test_every_channel_falls_silent() -> None:
    assert set(CHANNELS) <= _second("silence")


@pytest.mark.parametrize("name", [each.name for each in fields(EngineConfig) if each.name not in NOT_COVERED])
def test_every_parameter_of_the_engine_has_bins(name: str) -> None:
    bins = _BINS[f"option_{name}"]
    assert len(bins) > 1
    assert {parameter_bin(config, name) for config in EVERY} <= set(bins)


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_is_in_another_bin_than_its_default(option: str) -> None:
    plain = load_engine(OPTIONS_OF)
    changed = plain.replace(**OPTIONS[option])
    moved = {name for name in PARAMETERS if parameter_bin(plain, name) != parameter_bin(changed, name)}
    assert moved >= set(OPTIONS[option])


def test_a_value_without_a_bin_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdma.verif.engine.parameter_bins.PARAMETERS", {**PARAMETERS, "queue_depth": ("8",)})
    with pytest.raises(ValueError, match=r"queue_depth of 64 has no bin"):
        parameter_bin(load_engine("tiny").replace(queue_depth=64), "queue_depth")


def test_a_feature_without_bins_is_refused() -> None:
    with pytest.raises(ValueError, match="one or more different names, not none"):
        Feature("nothing", "completions", "Nothing.", ())
    with pytest.raises(ValueError, match="different names"):
        Feature("twice", "completions", "The same bin twice.", ("one", "one"))


class _Bus:
    """Registers that take every write and read 3."""

    async def write(self, offset: int, value: int, strobe: int = 15) -> None:
        pass

    async def read(self, offset: int) -> int:
        return 3


def test_a_ring_whose_size_is_written_begins_at_its_first_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cover, "ENABLED", True)
    monkeypatch.setattr(cover, "_counts", Counter())
    config = with_options(load_engine("engine"))
    at = {each.name: each.offset for each in registers(config)}
    sampler = Sampler(_Bus(), config)
    done = Completion(tag=0, status=Status.OK, operation=Operation.OFFLOAD)

    def written(**values: int) -> None:
        for name, value in values.items():
            asyncio.run(sampler.write(at[f"OFFLOAD_{name}"], value))

    for _ in range(3):
        written(RING_SIZE=8, RING_TAIL=3)
        for _ in range(3):
            sampler.completion(Operation.OFFLOAD, done)
    assert "offload:wrapped" not in cover.bins()["ring"]
    assert cover.bins()["overlap"] == {"offload:some": 3, "offload:two": 3, "offload:one": 3}
    assert cover.bins()["status_place"] == {f"OK:{place}": 3 for place in ("first", "inner", "last")}
    written(RING_TAIL=1)
    assert cover.bins()["ring"]["offload:wrapped"] == 1
    asyncio.run(sampler.read(at["OFFLOAD_WRITE_BACK_TAIL"]))
    written(WRITE_BACK_SIZE=8, WRITE_BACK_HEAD=0)
    assert cover.bins()["write_back"]["offload:empty"] == 1
