"""The driver in C, called from Python over any access to registers."""

from cdma.driver.access import FileRegisters, Registers, UioRegisters, VfioRegisters
from cdma.driver.driver import OWN_TAGS, Caches, Driver, DriverError, Memories, TransferError
from cdma.driver.library import Pages, Ring, WriteBackRing
from cdma.driver.library import text as error_text
from cdma.driver.model import ModelRegisters
from cdma.hdl.generate.handover.codes import Code

__all__ = ["OWN_TAGS", "Caches", "Code", "Driver", "DriverError", "FileRegisters", "Memories", "ModelRegisters",
           "Pages", "Registers", "Ring", "TransferError", "UioRegisters", "VfioRegisters", "WriteBackRing",
           "error_text"]
