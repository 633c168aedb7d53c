"""Coverage: the plan of what benches must see, its merging, and reading of what simulators and Python counted."""
