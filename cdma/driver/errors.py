"""What calls of the driver raise: refusals with the codes of the driver in C, and transfers that failed."""

from __future__ import annotations

from cdma.golden.engine import Completion
from cdma.hdl.generate.handover.codes import REASONS, Code
from cdma.hdl.generate.handover.statuses import MEANINGS

__all__ = ["DriverError", "TransferError", "error_text"]

_STATUSES = {status.value: sentence for status, sentence in MEANINGS.items()}


def error_text(error: int) -> str:
    """A sentence for a code or a status."""
    if error in _STATUSES:
        return _STATUSES[error]
    return REASONS[Code(error)] if error in REASONS else "unknown error"


class DriverError(Exception):
    """A call was refused, or gave up waiting.

    Parameters
    ----------
    code
        Why: the same code that the driver in C returns.
    detail
        What was given, for mistakes in an argument.
    """

    def __init__(self, code: Code, detail: str = "") -> None:
        super().__init__(f"{error_text(code)}{f': {detail}' if detail else ''} ({code.name})")
        self.code = code


class TransferError(Exception):
    """A transfer was completed with a status other than OK.

    Parameters
    ----------
    completion
        Its completion, with tag, status and place.
    """

    def __init__(self, completion: Completion) -> None:
        super().__init__(f"{error_text(completion.status)} ({completion.status.name}, tag {completion.tag:#x}, place "
                         f"{completion.place:#x})")
        self.completion = completion
