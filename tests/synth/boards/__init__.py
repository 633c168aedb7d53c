"""Images of boards."""
