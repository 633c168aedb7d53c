"""Area, held against counts made by hand."""
