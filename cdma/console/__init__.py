"""Options, progress, errors and output: what every command shares."""
