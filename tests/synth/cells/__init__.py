"""Gates, cell libraries and the Liberty format."""
