"""Place and route of small designs, with the real tools."""
