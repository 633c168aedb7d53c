"""Engines that keep tensors, behind the driver: the golden model, and the generated Verilog in a simulator."""

from cdma.engines.machine import Machine, Side
from cdma.engines.model import model_engine
from cdma.engines.tensors import DriverEngine, Transfer
from cdma.engines.verilog import verilog_engine

__all__ = ["DriverEngine", "Machine", "Side", "Transfer", "model_engine", "verilog_engine"]
