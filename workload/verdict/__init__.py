"""What a dump gains: the predicted time of its offloads, and a verdict in words."""
