"""The test suite: one folder per package, plus the pages of docs."""
