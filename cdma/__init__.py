"""The command line: reads arguments and files, calls the other packages, prints."""
