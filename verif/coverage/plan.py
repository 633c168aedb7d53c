"""The functional coverage plan: every feature with its bins, in the order of the page."""

from __future__ import annotations

from cdma.verif.coverage.feature import Feature
from cdma.verif.coverage.plan_control import CONTROL
from cdma.verif.coverage.plan_formats import FORMATS
from cdma.verif.coverage.plan_memory import MEMORY
from cdma.verif.coverage.plan_options import OPTIONS
from cdma.verif.coverage.plan_status import STATUSES

__all__ = ["PLAN"]

PLAN: tuple[Feature, ...] = (*STATUSES, *CONTROL, *FORMATS, *MEMORY, *OPTIONS)
"""All features."""
