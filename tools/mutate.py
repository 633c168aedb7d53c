"""Puts faults into the hardware's sources, one at a time, and sees whether tests find them.

    python tools/mutate.py freeze 60 --seed 44    a sample over all units, into tools/mutants.json
    python tools/mutate.py run --part 1/2         every second mutant of the file, into tools/results/mutation.json
    python tools/mutate.py run --only hdl/common/skid.py

A mutant is text: a file, what to find in it, once, and what to put there. It is tried in a copy of the tree: the tests
of its file, the proofs of its unit, tests of other units that import it, then benches, up to the first that fails or
to --seconds of a processor. What nothing finds survives, unless the netlists of all designs are the same, or Yosys
proves that they are (equiv_*). A mutant that makes no hardware is invalid; neither of these counts.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sign_off import FROZEN, ROOT, digest, store, text_of

ROOMS = ("hdl/common", "hdl/codec", "hdl/engine")
"""Where the hardware of cores and engine is."""

_SIGNS = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
          ast.NotEq: ("!=", "=="), ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.BitAnd: ("&", "|"),
          ast.BitOr: ("|", "&"), ast.BitXor: ("^", "|"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<")}
_NAMES = {"any": "all", "all": "any", "min": "max", "max": "min"}
_BENCHES = (["tests/verif/engine/test_engines.py", "-k", "tiny or smallest or sweep0"],
            ["tests/verif/core/test_cores.py"], ["tests/verif/engine/test_timeouts.py"])

Change = tuple[int, int, bytes, str]
"""From and to which byte something is replaced, by what, and what is changed in a few words."""


def changes(text: bytes) -> Iterator[Change]:
    """What can be changed in the functions of a file: signs of operators, numbers, bounds, conditions, assignments and
    resets. Texts, annotations, and checks that only raise make no hardware."""
    starts = [0]
    for line in text.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)

    def ends(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def sign(left: ast.expr, right: ast.expr, kind: type) -> Iterator[Change]:
        old, new = _SIGNS.get(kind, ("", ""))
        between = text[ends(left)[1]:ends(right)[0]]
        if old and b"#" not in between and (at := between.find(old.encode())) >= 0:
            at += ends(left)[1]
            yield at, at + len(old), new.encode(), f"{old} -> {new}"

    def of(node: ast.AST) -> Iterator[Change]:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from sign(node.left, node.comparators[0], type(node.ops[0]))
        elif isinstance(node, ast.BinOp):
            yield from sign(node.left, node.right, type(node.op))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            yield ends(node)[0], ends(node)[0] + 1, b"", "lose ~"
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            for value in {node.value + 1, max(node.value - 1, 0)} - {node.value}:
                yield *ends(node), str(value).encode(), f"{node.value} -> {value}"
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _NAMES:
                end = ends(node.func)[1]
                yield end - len(name), end, _NAMES[name].encode(), f"{name} -> {_NAMES[name]}"
            elif name in ("If", "Elif"):
                start, end = ends(node.args[0])
                yield start, end, b"(" + text[start:end] + b") == 0", f"invert {name}"
            elif name == "Mux" and len(node.args) == 3:
                (start, middle), (other, end) = ends(node.args[1]), ends(node.args[2])
                yield start, end, text[other:end] + text[middle:other] + text[start:middle], "swap Mux"
            elif name == "Signal":
                more = b", reset_less=True" if node.args or node.keywords else b"reset_less=True"
                yield ends(node)[1] - 1, ends(node)[1] - 1, more, "lose reset"
        elif isinstance(node, ast.AugAssign) and ast.unparse(node.target).startswith("m.d."):
            for each in node.value.elts if isinstance(node.value, ast.List) else [node.value]:
                yield *ends(each), b"*[]" if each is not node.value else b"[]", f"drop {ast.unparse(each)[:36]}"
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "m.next":
            yield *ends(node), b"pass", f"drop {ast.unparse(node)}"

    def inside(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.arguments | ast.AnnAssign) or (
                isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            return
        if isinstance(node, ast.keyword) and node.arg in ("name", "src_loc_at", "doc"):
            return
        yield node
        for child in ast.iter_child_nodes(node):
            yield from inside(child)

    for function in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)):
        for node in inside(function):
            yield from of(node)


def frozen(file: str, text: bytes, change: Change) -> dict[str, str]:
    """A mutant as text: whole lines, as many as are needed to find them once."""
    start, end, new, about = change
    first, last = text.rfind(b"\n", 0, start) + 1, (text + b"\n").index(b"\n", end)
    while text.count(text[first:last]) > 1:
        first = text.rfind(b"\n", 0, first - 1) + 1
    return {"name": f"{file}:{text.count(bytes([10]), 0, start) + 1} {about}", "about": about, "file": file,
            "find": text[first:last].decode(), "put": (text[first:start] + new + text[end:last]).decode()}


def sample(count: int, seed: int) -> list[dict[str, str]]:
    """So many mutants: one of each unit first, in a random order of units, then a second one of each, and so on."""
    ranked = []
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        file, text = path.relative_to(ROOT).as_posix(), path.read_bytes()
        rng = random.Random(f"{seed} {file}")
        every = sorted(set(changes(text)))
        ranked += [(place, rng.random(), frozen(file, text, each))
                   for place, each in enumerate(rng.sample(every, len(every)))]
    return [mutant for *_, mutant in sorted(ranked, key=lambda each: each[:2])[:count]]


def checks(file: str) -> Iterator[tuple[str, list[str]]]:
    """Calls of Python that may find a fault in a file, the nearest first, and whether they are its own or others."""
    own, module = ROOT / "tests" / Path(file).parent, "cdma." + file.removesuffix(".py").replace("/", ".")
    named = sorted(own.glob(f"test_{Path(file).stem}*.py"))
    users = [path for path in sorted((ROOT / "tests/hdl").rglob("test_*.py"))
             if path not in named and re.search(rf"{re.escape(module)}\b", path.read_text(encoding="utf-8"))]
    near = [path for path in sorted(own.glob("test_*.py")) if path not in (*named, *users)]
    pytest = ["-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    if named:
        yield "own", [*pytest, *(str(path.relative_to(ROOT)) for path in named)]
    from cdma.verif.formal.table import PROOFS
    if proofs := [proof.name for proof in PROOFS if proof.unit == file and proof.set == "shallow"]:
        yield "own", ["-m", "cdma", "prove", *proofs]
    for group in (users, near):
        if group:
            yield "other", [*pytest, *(str(path.relative_to(ROOT)) for path in group)]
    yield from (("other", [*pytest, *bench]) for bench in (_BENCHES if "codec" not in file else _BENCHES[1::-1]))


def called(tree: Path, arguments: list[str], seconds: float) -> tuple[int | None, str, float]:
    """Exit code, or None if it took too long, output, and seconds of a processor of a call of Python in a tree."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"PYTHONPATH": str(tree), "AMARANTH_USE_YOSYS": "builtin"}
    process = subprocess.Popen([sys.executable, *arguments], cwd=tree, env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        said, code = process.communicate(timeout=max(60, 4 * seconds))[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        said, code = process.communicate()[0], None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return code, said, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def put(path: Path, text: str) -> None:
    """Change a source. What is compiled of it goes: Python takes that for today's if size and second are the same."""
    path.write_text(text, encoding="utf-8")
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()


def judge(tree: Path, mutant: dict[str, str], seconds: float) -> tuple[str, str]:
    """Try a mutant in a copy of the tree: the verdict, and what says so."""
    path = tree / mutant["file"]
    text = path.read_text(encoding="utf-8")
    if text.count(mutant["find"]) != 1:
        return "moved", "its text is not in the file once: port it by hand"
    left = seconds
    put(path, text.replace(mutant["find"], mutant["put"]))
    try:
        for whose, check in checks(mutant["file"]):
            if left < 5:
                break
            code, said, used = called(tree, check, left)
            left -= used
            if code not in (None, 0, 5):    # None: the time was over; 5: pytest chose no test
                found = re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE) or said.strip().splitlines()[-1:]
                invalid = re.search(r"^(?:cdma/)?hdl/\S+: \w*Error$", said, re.MULTILINE)
                return ("invalid" if invalid else whose), found[0] if found else ""
        if called(tree, ["tools/mutate.py", "netlists", str(tree / "build/mutant")], 600)[0] != 0:
            return "invalid", "no netlist is made"
    finally:
        put(path, text)
    if not (tree / "build/plain").exists():
        called(tree, ["tools/mutate.py", "netlists", str(tree / "build/plain")], 600)
    alike = all(equal(tree / "build/plain", tree / "build/mutant", file.name)
                for file in sorted((tree / "build/plain").glob("*.il")))
    return ("same", "netlists") if alike else ("survived", "")


def netlists(folder: Path) -> None:
    """Write the RTLIL of each chosen design, without lines of sources, which differ in any mutant."""
    from amaranth.back import rtlil  # type: ignore[attr-defined]
    from amaranth.hdl import Fragment
    from cover import CHOSEN

    from cdma.hdl.common.modules import Modules, port_values
    from cdma.hdl.common.sram import SramWrapping
    from cdma.hdl.generate.verilog import _top

    folder.mkdir(parents=True, exist_ok=True)
    for name, (config, _) in CHOSEN.items():
        top = _top(config)
        platform = (SramWrapping if getattr(config, "memories", "") == "wrapped" else Modules)(config.name)
        text = rtlil.convert(Fragment.get(top, platform), name=config.name, ports=port_values(top), emit_src=False)
        text += "".join(rtlil.convert(each.design, name=each.name, ports=each.ports, emit_src=False)
                        for each in platform.shared.values())
        (folder / f"{name}.il").write_text(re.sub(r"^ *attribute \\src .*\n", "", text, flags=re.MULTILINE))


_PROVE = """read_rtlil plain.il; rename {name} plain; read_rtlil mutant.il; rename {name} mutant; proc; opt_clean
async2sync; equiv_make plain mutant both; hierarchy -top both; opt_clean
equiv_simple -ignore-unknown-cells -undef; equiv_induct -ignore-unknown-cells -undef; equiv_status -assert"""
"""Registers and instances are matched by name. Induction does not see how registers begin, so initial values must be
equal: they are in the text that is compared before."""


def equal(plain: Path, mutant: Path, file: str) -> bool:
    """Whether a design's netlists are the same text, or each module that differs is proved to do the same."""
    from cdma.synth.tools import yosys

    one, other = ({found[1]: found[0] for found in re.finditer(r"^module (\S+)\n.*?^end\n", (folder / file).read_text(),
                                                               re.MULTILINE | re.DOTALL)} for folder in (plain, mutant))
    if one.keys() != other.keys():
        return False
    for name in one:
        ports, inits = ([re.findall(rf"^ *({word} .*)$", text[name], re.MULTILINE) for text in (one, other)]
                        for word in (r"wire .*(?:input|output)", r"attribute \\init"))
        if one[name] == other[name]:
            continue
        if ports[0] != ports[1] or inits[0] != inits[1]:
            return False
        try:
            yosys.find().run(_PROVE.format(name=name), {"plain.il": one[name], "mutant.il": other[name]}, [],
                             f"the proof of {name}")
        except ValueError:
            return False
    return True


def main() -> int:
    """Freeze, or run."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = arguments.add_subparsers(dest="what", required=True)
    freeze, run, nets = (what.add_parser(name) for name in ("freeze", "run", "netlists"))
    freeze.add_argument("count", type=int)
    freeze.add_argument("--seed", type=int, default=1)
    run.add_argument("--part", default="1/1", metavar="I/N")
    run.add_argument("--only", default="", metavar="TEXT", help="mutants whose file or name has it")
    run.add_argument("--seconds", type=float, default=240)
    nets.add_argument("folder", type=Path)
    call = arguments.parse_args()
    if call.what == "netlists":
        netlists(call.folder)
        return 0
    if call.what == "freeze":
        # Those that were chosen by hand, whose names have no place, stay.
        kept = [each for each in json.loads(FROZEN.read_text(encoding="utf-8")) if ":" not in each["name"]]
        FROZEN.write_text(json.dumps(kept + sample(call.count, call.seed), indent=1) + "\n", encoding="utf-8")
        return 0
    part, parts = map(int, call.part.split("/"))
    every = json.loads(FROZEN.read_text(encoding="utf-8"))
    chosen = [each for each in every if call.only in f"{each['file']} {each['name']}"][part - 1::parts]
    changed = subprocess.run(["git", "status", "--porcelain", "--", ".", ":!docs", ":!tools/results"], cwd=ROOT,
                             capture_output=True, text=True, check=True).stdout
    if changed:
        sys.exit(f"mutants are tried in the last commit, and the tree has changes: commit them first\n{changed}")
    survived, sources = 0, digest("mutation")
    with tempfile.TemporaryDirectory(prefix="cdma-mutants-") as place:
        tree = Path(place) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree)], cwd=ROOT, check=True)
        try:
            for number, mutant in enumerate(chosen, 1):
                verdict, by = judge(tree, mutant, call.seconds)
                if digest("mutation") != sources:
                    sys.exit("sources have changed since this run began: commit, and start it again")
                survived += verdict == "survived"
                print(f"{number} of {len(chosen)}: {mutant['name']}: {verdict} {by}", flush=True)
                store("mutation", "make mutation", {"mutants": {mutant["name"]: f"{verdict}|{text_of(mutant)}|{by}"}})
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
