"""CUDA C++ through NVRTC and the driver's library: what PyTorch for CUDA brings, and no compiler beside it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Module", "compiler", "cubin"]


@cache
def compiler() -> ctypes.CDLL | None:
    """NVRTC; None where it is not installed."""
    from cdma.workload.extra import package

    rooms = [Path(package("torch", "gpu").__file__).parent / "lib"]
    rooms += [room / "lib" for room in rooms[0].parents[1].glob("nvidia/*")]
    # What a library needs of a second one is found where that was loaded before.
    found = [file for kind in ("-builtins", "") for room in rooms for file in sorted(room.glob(f"libnvrtc{kind}.so*"))]
    for name in [*map(str, found), "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]:
        try:
            library = ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        if "builtins" not in name:
            return library
    return None


def cubin(source: str, name: str, arch: int, **defined: int) -> bytes:
    """The code of a source, with numbers defined, for GPUs of ``sm_<arch>``; needs no GPU.

    Raises
    ------
    RuntimeError
        If NVRTC does not compile it; the message is what it says.
    """
    library = compiler()
    assert library is not None
    program, size = c_void_p(), c_size_t()
    options = [f"--gpu-architecture=sm_{arch}".encode(), b"-default-device",
               *(f"-D{what}={number}".encode() for what, number in defined.items())]
    library.nvrtcCreateProgram(byref(program), source.encode(), name.encode(), 0, None, None)
    failed = library.nvrtcCompileProgram(program, len(options), (c_char_p * len(options))(*options))
    what = "ProgramLog" if failed else "CUBIN"
    getattr(library, f"nvrtcGet{what}Size")(program, byref(size))
    found = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, found)
    library.nvrtcDestroyProgram(byref(program))
    if failed:
        raise RuntimeError(f"NVRTC does not compile {name}: {found.value.decode()}")
    return found.raw


class Module:
    """The kernels of a code that was loaded into the current context of a device."""

    def __init__(self, code: bytes) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._driver.cuLaunchKernel.argtypes = (c_void_p, *[c_uint] * 7, c_void_p, POINTER(c_void_p), c_void_p)
        self._module = c_void_p()
        self._kernels: dict[str, c_void_p] = {}
        self._check(self._driver.cuModuleLoadData(byref(self._module), code))

    def launch(self, name: str, grid: int, threads: int, stream: int, arguments: Sequence[Any]) -> None:
        """Launch a kernel; arguments are numbers of ctypes, tensors stand for their addresses."""
        if name not in self._kernels:
            self._kernels[name] = c_void_p()
            self._check(self._driver.cuModuleGetFunction(byref(self._kernels[name]), self._module, name.encode()))
        values = [c_void_p(each.data_ptr()) if hasattr(each, "data_ptr") else each for each in arguments]
        pointers = (c_void_p * len(values))(*(ctypes.addressof(each) for each in values))
        self._check(self._driver.cuLaunchKernel(self._kernels[name], grid, 1, 1, threads, 1, 1, 0, c_void_p(stream),
                                                pointers, None))

    def _check(self, status: int) -> None:
        if status:
            text = c_char_p()
            self._driver.cuGetErrorString(c_int(status), byref(text))
            raise RuntimeError(f"CUDA's driver reports {(text.value or b'status').decode()} ({status})")
