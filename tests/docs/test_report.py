"""What ``make report`` builds: every page, found from the first, and nothing that is elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from cdma.golden.codec import blocks
from cdma.workload.data import shipped_dumps
from cdma.workload.dumps import load, own_element_bytes
from tests.docs.pages import ROOT, check_html


def test_the_report_has_a_page_of_every_shipped_dump_and_of_the_results(tmp_path: Path) -> None:
    folder = tmp_path / "build/report"
    done = subprocess.run([sys.executable, ROOT / "tools/build_report.py", folder], cwd=ROOT, capture_output=True,
                          text=True, check=False, env={"PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stdout, done.stderr) == (0, f"report: {folder / 'index.html'}\n", "")
    index = (folder / "index.html").read_text(encoding="utf-8")
    linked = re.findall(r'href="([^"#][^"]*)"', index)
    assert sorted(linked) == sorted(["results.html", *(f"{name}.html" for name in shipped_dumps())])
    assert sorted(page.name for page in folder.iterdir()) == sorted([*linked, "index.html"])
    for page in folder.iterdir():
        text = page.read_text(encoding="utf-8")
        check_html(text)
        for tag in ("svg", "table", "figure", "section", "p", "ul"):
            assert len(re.findall(rf"<{tag}[ >]", text)) == text.count(f"</{tag}>"), (page.name, tag)
    for name, path in shipped_dumps().items():
        arrays = load(path).values()
        packed = sum(blocks.compress(array, own_element_bytes(array)).size for array in arrays)
        ratio = sum(array.nbytes for array in arrays) / packed
        density = sum(map(np.count_nonzero, arrays)) / sum(array.size for array in arrays)
        row = re.search(rf'<tr>.*?href="{name}\.html".*?</tr>', index)
        assert row is not None
        assert f"<td>{ratio:.2f}</td>" in row[0]
        assert f"<td>{density:.3f}</td>" in row[0]
