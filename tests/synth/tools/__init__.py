"""The tools: scripts, netlists, versions and errors."""
