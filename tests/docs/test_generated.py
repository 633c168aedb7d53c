"""Generated pages are what their generator writes."""

import subprocess
import sys

from tests.docs.pages import ROOT


def test_generated_pages_are_fresh() -> None:
    done = subprocess.run([sys.executable, "tools/generate_docs.py", "--check"], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\nrun `make docs` and commit the pages"
