"""The driver in C where it is used: languages, kernels, processors without division, caches, and its return codes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cdma.hdl.config.engine import load_engine
from cdma.hdl.generate.handover.c_header import c_header
from cdma.hdl.generate.handover.codes import Code
from cdma.hdl.generate.handover.files import DRIVER, driver

_STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
_TYPES = "typedef unsigned int uint32_t;\n__extension__ typedef unsigned long long uint64_t;\n"
_KERNEL = {"linux/types.h": _TYPES,
           "asm/barrier.h": "void kernel_barrier(void);\nvoid kernel_read_barrier(void);\n"
                            "#define mb() kernel_barrier()\n#define dma_rmb() kernel_read_barrier()\n",
           "asm/processor.h": "#define cpu_relax() kernel_relax()\nvoid kernel_relax(void);\n"}
_DIVISIONS = {f"__{sign}{name}di3" for sign in ("", "u") for name in ("div", "mod", "divmod")} | {"__udivmoddi4"}
_SMALL = [each for each in ("gcc -m32", "riscv64-unknown-elf-gcc -march=rv32i -mabi=ilp32")
          if shutil.which(each.split()[0])
          and not subprocess.run([*each.split(), "-fsyntax-only", "-x", "c", "/dev/null"], capture_output=True,
                                 check=False).returncode]
"""Compilers for processors of 32 bits."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file that takes the address of every function of the driver, beside the headers that it includes."""
    (tmp_path / "regs.h").write_text(c_header(load_engine("tiny")))
    (tmp_path / DRIVER).write_text(driver())
    names = re.findall(r"^CDMA_INLINE .*?\b(cdma_\w+)\(", driver(), re.MULTILINE)
    assert len(names) > 50
    path = tmp_path / "all.c"
    path.write_text("".join(f"#{line}\n" for line in (
        "ifdef OWN_TYPES", 'include "types.h"', "endif", 'include "regs.h"', f'include "{DRIVER}"')) +
        f"void (*const all[])(void) = {{{', '.join(f'(void (*)(void)){name}' for name in names)}}};\n")
    (tmp_path / "types.h").write_text(_TYPES)
    return path


def _compile(source: Path, *options: str, compiler: str = "gcc") -> str:
    """What the compiler makes, as text of the assembler where it is asked for; warnings are errors."""
    done = subprocess.run([*compiler.split(), *_STRICT, "-Wno-cast-function-type", *options, "-o", "out", source.name],
                          cwd=source.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return (source.parent / "out").read_text() if "-S" in options else ""


@pytest.mark.parametrize("language", ["c89", "c99", "c11", "gnu11", "c++98", "c++11", "c++17"])
def test_languages(source: Path, language: str) -> None:
    own = ("-x", "c++") if "++" in language else ("-x", "c", "-Wdeclaration-after-statement")
    _compile(source, *own, f"-std={language}", "-c")


def test_without_any_header(source: Path) -> None:
    _compile(source, "-nostdinc", "-DCDMA_NO_STDINT", "-DOWN_TYPES", "-c")


def test_in_a_kernel(source: Path) -> None:
    """Types, barriers and the pause come from the kernel's headers, and nothing from those of the C library."""
    for name, text in _KERNEL.items():
        place = source.parent / "kernel" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    made = _compile(source, "-nostdinc", "-D__KERNEL__", "-Ikernel", "-std=gnu11", "-Wdeclaration-after-statement",
                    "-O2", "-S")
    assert all(name in made for name in ("kernel_barrier", "kernel_read_barrier", "kernel_relax"))


@pytest.mark.parametrize("level", ["-O0", "-Os", "-O2"])
def test_no_division_of_64_bits(source: Path, level: str) -> None:
    """Nothing is asked of the compiler's library, and of that of C only what a compiler may always call."""
    for compiler in ["gcc", *_SMALL]:
        made = _compile(source, "-nostdinc", "-DCDMA_NO_STDINT", "-DOWN_TYPES", "-fno-pic", level, "-S",
                        compiler=compiler)
        assert not re.search(r"\bi?divq\b|\budiv\b", made), compiler
        called = set(re.findall(r"\b(?:call|tail)q?\s+([a-z_]\w*)", made))
        assert {name for name in called if not name.startswith(("cdma_", "__x86"))} <= {"memcpy", "memset"}, compiler
        assert not _DIVISIONS & set(re.findall(r"\b__\w+", made))


def test_a_division_would_be_found(source: Path) -> None:
    for compiler in ["gcc", *_SMALL]:
        source.write_text(f"{_TYPES}uint64_t half(uint64_t a, uint64_t b) {{ return a / b; }}\n")
        made = _compile(source, "-nostdinc", "-O2", "-S", compiler=compiler)
        assert re.search(r"\bi?divq\b|\budiv\b", made) or _DIVISIONS & set(re.findall(r"\b__\w+", made)), compiler


@pytest.mark.parametrize(("options", "barrier"), [
    (["-D__aarch64__"], "dmb sy"), (["-D__ARM_ARCH=7"], "dsb sy"),
    (["-D__aarch64__", "-DCDMA_BARRIER()=CDMA_DSB()"], "dsb sy")])
def test_barriers_of_arm(source: Path, options: list[str], barrier: str) -> None:
    """By their names; one that the user chooses takes the place of the default."""
    assert set(re.findall(r"\bd[ms]b \w+", _compile(source, "-std=c99", *options, "-S"))) == {barrier}
    assert not re.search(r"\bd[ms]b \w+", _compile(source, "-std=c99", "-U__aarch64__", "-U__ARM_ARCH", "-S"))


@pytest.mark.parametrize(("target", "barrier"), [
    ("riscv64", "fence"), ("riscv32", "fence"), ("aarch64", "dmb sy"), ("arm-eabi", "dsb sy"),
    ("thumb-eabi -mcpu=cortex_m0", "dsb sy"), ("thumb-eabi -mcpu=cortex_m7", "dsb sy"), ("x86_64", "mfence"),
    ("powerpc64le", "sync"), ("powerpc", "sync"), ("loongarch64", "dbar 0"),
    # The compiler's own.
    ("x86", "mfence"), ("mips-eabi", "sync"), ("s390x", "bcr 14, %r0")])
def test_barrier_of_each_architecture(source: Path, target: str, barrier: str) -> None:
    """What clang makes between a write of memory and one of a register; a `fence` without more is one of all accesses
    (`iorw, iorw`)."""
    source.write_text(f'#include "regs.h"\n#include "{DRIVER}"\nvoid publish(volatile uint32_t *memory, volatile '
                      'uint32_t *registers)\n{\n    *memory = 1;\n    CDMA_BARRIER();\n    *registers = 2;\n}\n')
    kind, _, options = target.partition(" ")
    machine, _, abi = kind.partition("-")
    subprocess.run([sys.executable, "-m", "ziglang", "cc", "-target", f"{machine}-freestanding{abi and f'-{abi}'}",
                    *options.split(), "-O2", "-g0", "-S", "-o", "out", source.name], cwd=source.parent, check=True,
                   env=os.environ | dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(source.parent)))
    made = (source.parent / "out").read_text().partition("publish:")[2]
    barriers = re.findall(r"^\s+((?:fence|mfence|dmb|dsb|sync|dbar|bcr|lock)\b.*)$", made, re.MULTILINE)
    assert [each.split() for each in barriers] == [barrier.split()], f"{target}: {barriers}"



def test_codes_are_those_of_the_table() -> None:
    found = {name: int(value) for name, value in re.findall(r"^    CDMA_E_(\w+) = (-\d+)", driver(), re.MULTILINE)}
    assert found == {code.name: code.value for code in Code}
    assert set(re.findall(r"case CDMA_E_(\w+):", driver())) == set(found)


_PROGRAM = Path(__file__).with_name("driver_hooks.c")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the program prints under each of its headings."""
    folder = tmp_path_factory.mktemp("hooks")
    (folder / "regs.h").write_text(c_header(load_engine("tiny")))
    (folder / DRIVER).write_text(driver())
    subprocess.run(["gcc", "-std=c99", *_STRICT, f"-I{folder}", "-o", "hooks", str(_PROGRAM)], cwd=folder, check=True)
    done = subprocess.run([folder / "hooks"], capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        if line.endswith(":"):
            found[line[:-1]] = []
        else:
            found[list(found)[-1]].append(line)
    return found


def test_blocking_calls_maintain_their_buffers(said: dict[str, list[str]]) -> None:
    assert said["offload"] == ["before read device 0x1000 256", "before write link 0x2000 300", "barrier", "doorbell",
                               "barrier", "after write link 0x2000 300"]
    assert said["prefetch"] == ["before read link 0x2000 128", "before write device 0x1000 256", "barrier", "doorbell",
                                "barrier", "after write device 0x1000 256"]
    assert said["offload of pages"] == ["before read device 0x1000 256", "before read link 0x3000 24", "barrier",
                                        "doorbell", "barrier"]
    assert said["prefetch of pages"] == ["before read link 0x3000 24", "before write device 0x1000 256", "barrier",
                                         "doorbell", "barrier", "after write device 0x1000 256"]


def test_submitted_descriptors_maintain_their_buffers(said: dict[str, list[str]]) -> None:
    before = ["before read device 0x1000 256", "before write link 0x2000 300"]
    assert said["submit"] == [*before, "barrier", "doorbell"]
    assert said["take buffers"] == ["after write link 0x2000 300"]
    assert said["ring submit"] == ["clean 64 1", *before, "barrier", "tail"]


def test_records_are_read_from_memory(said: dict[str, list[str]]) -> None:
    """The ring is clean before the engine gets it; a record is looked at, and read, after what the cache has of it is
    gone."""
    assert said["write back"] == ["clean 0 4", "barrier", "write-back enable"]
    assert said["no record"] == ["invalidate 0"]
    assert said["record"] == ["invalidate 0", "read barrier", "invalidate 0"]


def test_every_refusal_has_a_code(said: dict[str, list[str]]) -> None:
    assert said["refusals"] and not [line for line in said["refusals"] if not re.search(r" -\d+$", line)]
    codes = {line.rpartition(" ")[0]: Code(int(line.rpartition(" ")[2])) for line in said["refusals"]}
    not_built = {name for name, code in codes.items() if code is Code.NOT_BUILT}
    assert {name for name, code in codes.items() if code is not Code.ARGUMENT} == not_built
    assert not_built == {"events that were not built", "page lists", "coalescing"}
    assert said["registers written by refusals"] == ["1"], "only IRQ_ENABLE is tried"
