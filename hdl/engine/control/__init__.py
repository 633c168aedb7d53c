"""Control: register table and bank, descriptors and their check, queues, rings, completions, counters, interrupt."""
