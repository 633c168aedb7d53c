"""Groups of alike arrays: which names belong together, and the figures of a group."""

from __future__ import annotations

import numpy as np
import pytest

from cdma.workload.characterise.arrays import characterise_array
from cdma.workload.characterise.groups import groups


def named(*names: str) -> list[str]:
    """Names of the groups of equal arrays with these names."""
    ones = np.ones(32, np.float32)
    return [group.name for group in groups([characterise_array(ones, name, form=None) for name in names])]


@pytest.mark.parametrize(("names", "expected"), [
    (("blocks.0.qkv", "blocks.1.qkv", "blocks.11.qkv"), ["blocks.*.qkv"]),
    (("blocks.0.qkv", "blocks.1.gelu"), ["blocks.0.qkv", "blocks.1.gelu"]),
    (("act/l1/norm1", "act/l3/norm1", "act/l1/norm2"), ["act/l*/norm1", "act/l1/norm2"]),
    (("conv1", "conv2"), ["conv1", "conv2"]),                                     # layers, not blocks
    (("features.0", "features.3"), ["features.0", "features.3"]),                 # of a Sequential
    (("h.0", "h.0.mlp", "h.1", "h.1.mlp"), ["h.*", "h.*.mlp"]),                   # blocks, which have layers inside
    (("h.0#2", "h.0.mlp", "h.1#2", "h.1.mlp"), ["h.*#2", "h.*.mlp"]),
    (("layers.0.1.bn", "layers.0.2.bn", "layers.3.1.bn"), ["layers.*.*.bn"]),
    (("step000/h.0.x", "step000/h.1.x", "step100/h.0.x"), ["step000/h.*.x", "step100/h.0.x"]),
    (("p020/b1/x", "p020/b2/x"), ["p020/b*/x"])])
def test_names_without_the_numbers_of_blocks(names: tuple[str, ...], expected: list[str]) -> None:
    assert named(*names) == expected


def test_other_shapes_and_types_are_other_groups() -> None:
    kinds = [((2, 8), np.float32), ((2, 8), np.float32), ((16,), np.float32), ((2, 8), np.float16)]
    arrays = [characterise_array(np.ones(shape, kind), f"h.{number}.x", form=None)
              for number, (shape, kind) in enumerate(kinds)]
    assert [(group.name, group.first.shape, group.first.dtype) for group in groups(arrays)] == [
        ("h.*.x", (2, 8), "float32"), ("h.2.x", (16,), "float32"), ("h.3.x", (2, 8), "float16")]


def test_groups_of_one_name_say_what_differs() -> None:
    def made(*kinds: tuple[str, int, type]) -> list[tuple[str, str]]:
        arrays = [characterise_array(np.ones(size, kind), name, form=None) for name, size, kind in kinds]
        return [(group.name, group.layer) for group in groups(arrays)]

    few, many, short = (np.float32, 4), (np.float32, 8), (np.float16, 4)
    fire = [(f"step{step}/f.{block}.x", size, kind) for step in (0, 9) for block, (kind, size) in
            enumerate([few, few, many, many][:4 - step // 9])]
    # Of the third step there is one array alone, with its own name; the others are of one layer over the steps.
    assert made(*fire) == [("step0/f.*.x 4", "f.*.x 4"), ("step0/f.*.x 8", "f.*.x 8"), ("step9/f.*.x 4", "f.*.x 4"),
                           ("step9/f.2.x", "f.2.x")]
    assert made(*((f"f.{block}.x", size, kind) for block, (kind, size) in enumerate([few, few, short, short]))) == [
        ("f.*.x float32", "f.*.x float32"), ("f.*.x float16", "f.*.x float16")]


def test_figures_are_sums_and_ranges() -> None:
    rng = np.random.default_rng(1)
    arrays = [characterise_array(np.where(rng.random(5000) < share, rng.standard_normal(5000), 0).astype(np.float32),
                                 f"h.{number}.x") for number, share in enumerate((0.2, 0.9, 0.5))]
    (group,) = groups(arrays)
    assert group.as_json()["members"] == ["h.0.x", "h.1.x", "h.2.x"]
    assert group.stored.raw_bytes == 3 * 20000
    assert group.stored.best_bytes == sum(array.stored.best_bytes for array in arrays)
    densities = [array.stored.density.density for array in arrays]
    assert group.density_range == (densities[0], densities[1])
    ratios = [array.stored.best_ratio for array in arrays]
    assert group.ratio_range == (min(ratios), max(ratios))  # type: ignore[type-var]
    (empty,) = groups([characterise_array(np.zeros(0, np.float32), "none")])
    assert empty.density_range is None and empty.ratio_range is None
