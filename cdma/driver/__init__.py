"""The driver in Python: the calls of the driver in C, over any access to registers."""

from cdma.driver.access import FileRegisters, Registers, UioRegisters, VfioRegisters, fence
from cdma.driver.caches import Caches, Memories
from cdma.driver.driver import OWN_TAGS, Driver
from cdma.driver.errors import DriverError, TransferError, error_text
from cdma.driver.model import ModelRegisters
from cdma.driver.named import Built
from cdma.driver.rings import Pages, Ring, WriteBackRing
from cdma.hdl.generate.handover.codes import Code

__all__ = ["OWN_TAGS", "Built", "Caches", "Code", "Driver", "DriverError", "FileRegisters", "Memories",
           "ModelRegisters", "Pages", "Registers", "Ring", "TransferError", "UioRegisters", "VfioRegisters",
           "WriteBackRing", "error_text", "fence"]
