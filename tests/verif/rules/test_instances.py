"""Rule modules are put on the ports of a design by name."""

from __future__ import annotations

import pytest

from cdma.verif.rules.catalogue import FILES
from cdma.verif.rules.instances import instance, with_rules

_DESIGN = "module other;\nendmodule\nmodule top(input wire aclk);\nendmodule\nmodule last;\nendmodule\n"


def test_pins_that_a_port_does_not_have_are_0() -> None:
    text = instance("axi4_stream.v", "beats", {"DATA_WIDTH": 64}, {"aclk": "clock", "tdata": "bytes"})
    assert text.startswith("    axi4_stream_rules #(.DATA_WIDTH(64)) beats (")
    assert ".aclk(clock)" in text
    assert ".tdata(bytes)" in text
    assert ".tdest(0)" in text
    assert text.count("(0)") == 9


@pytest.mark.parametrize("file", FILES)
def test_every_module_has_its_pins(file: str) -> None:
    assert instance(file, "rules", {}, {"aclk": "aclk", "aresetn": "aresetn"}).count("    .") > 10


def test_a_pin_that_is_not_there() -> None:
    with pytest.raises(ValueError, match=r"the rules in axi4_read\.v have no pin 'awid': choose from aclk, aresetn,"):
        instance("axi4_read.v", "rules", {}, {"awid": "awid"})


def test_instances_are_in_the_module_that_is_named() -> None:
    text = with_rules(_DESIGN, "top", ["axi4_lite.v"], ["first", "second"])
    assert text.endswith("module top(input wire aclk);\n\nfirst\nsecond\nendmodule\nmodule last;\nendmodule\n")
    assert text.count("module axi4_lite_rules") == 1
    assert "axi4_stream_rules" not in text


def test_a_module_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="there is no module to to put rules into"):
        with_rules(_DESIGN, "to", FILES, [])
