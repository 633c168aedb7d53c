"""What commands measure, put together from simulation, synthesis and workloads."""
