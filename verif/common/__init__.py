"""What all benches share: the runner of simulators, tools, testbench base, stalls, packets, progress."""
