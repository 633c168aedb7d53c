"""The block stream in portable C: what is handed over with every engine, and the fast path of this package."""
