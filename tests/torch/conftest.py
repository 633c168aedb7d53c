"""PyTorch with one thread: networks of tests are small, and threads that wait for each other take whole cores."""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"     # before PyTorch is imported, and for processes that tests start
