"""Control: registers, descriptors, queues, rings, completions and the interrupt."""
