"""JUnit XML of a verification: what CI systems show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from cdma.measure.verified import Verification
    from cdma.verif.regression.outcomes import Outcome

__all__ = ["junit"]

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""


def junit(found: Verification) -> str:
    """A test suite for each step; a step that is no bench is a test itself, and one that was not run is an error."""
    top = ElementTree.Element("testsuites", name=f"cdma verify {found.name}")
    for outcome in found.outcomes:
        _suite(top, found, outcome)
    for suite in (top, *top):
        cases = list(suite.iter("testcase"))
        suite.set("tests", str(len(cases)))
        suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
        suite.set("errors", str(sum(case.find("error") is not None for case in cases)))
        suite.set("time", f"{sum(float(case.get('time', 0)) for case in cases):.3f}")
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="unicode", xml_declaration=True) + "\n"


def _suite(top: ElementTree.Element, found: Verification, outcome: Outcome) -> None:
    from cdma.verif.regression.outcomes import State

    of = f"{found.name}.{outcome.step}"
    suite = ElementTree.SubElement(top, "testsuite", name=f"{of}.seed{outcome.seed}")
    known = any(test.state is State.FAILED for test in outcome.tests)
    for test in outcome.tests:
        case = ElementTree.SubElement(suite, "testcase", classname=of, name=test.name, time=f"{test.seconds:.3f}")
        if test.state is State.FAILED:
            _fault(case, "failure", test.said, outcome)
        elif test.state is State.NOT_RUN:
            _fault(case, "error", test.said or "not run", outcome)
    if not outcome.tests or (outcome.state is State.FAILED and not known):
        case = ElementTree.SubElement(suite, "testcase", classname=of, name=outcome.step, time=f"{outcome.seconds:.3f}")
        if outcome.state is State.FAILED:
            _fault(case, "failure", outcome.said, outcome)
        elif outcome.state is State.NOT_RUN:
            _fault(case, "error", "not run: the budget had ended", outcome)


def _fault(case: ElementTree.Element, kind: str, said: str, outcome: Outcome) -> None:
    text = _ILLEGAL.sub("?", said)
    fault = ElementTree.SubElement(case, kind, message=text.partition("\n")[0])
    waves = f"\nwaves: {outcome.waves}" if outcome.waves else ""
    fault.text = f"{text}\nreplay: {outcome.replay}{waves}"
