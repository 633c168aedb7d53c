"""Loading of dumps: .npy, .npz, .safetensors, .pt, folders with a manifest, and anything else as raw elements."""

from cdma.workload.dumps.arrays import raw_array
from cdma.workload.dumps.kinds import check_once, entries, has_types, load
from cdma.workload.dumps.types import is_floating, own_element_bytes, type_name, values

__all__ = ["check_once", "entries", "has_types", "is_floating", "load", "own_element_bytes", "raw_array", "type_name",
           "values"]
