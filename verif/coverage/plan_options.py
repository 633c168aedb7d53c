"""Bins of the options of an engine: values of its parameters that some simulation must have."""

from __future__ import annotations

from cdma.verif.coverage.feature import Feature, crossed
from cdma.verif.coverage.plan_formats import NAMES
from cdma.verif.engine.parameter_bins import PARAMETERS

__all__ = ["NOT_COVERED", "OPTIONS"]

NOT_COVERED = ("name", "about", "codings")
"""Parameters without bins of their own: the first two change no hardware, and codings have a feature of their own."""

OPTIONS = (
    Feature("coding", "options", "Engines are built with each coding, and without it.",
            crossed(NAMES, ("built", "not built"))),
    *(Feature(f"option_{name}", "options", f"Engines are simulated with these values of {name}.", bins)
      for name, bins in PARAMETERS.items()),
)
"""Features of configurations."""
