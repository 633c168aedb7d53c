"""Files of JSON that users write or name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cdma.hdl.config.files import refuse_pipe

__all__ = ["read_json"]


def read_json(path: str | Path) -> Any:
    """The content of a file of JSON.

    Raises
    ------
    ValueError
        With one sentence, if it cannot be read, is not JSON, or is nested too deeply.
    """
    file = refuse_pipe(path)
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply to be read") from error
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
