"""Codings: the table of element sizes and codings, and what line and block codings share."""
