"""Random configurations, traffic, faults and malformed streams for as long as one likes; failures become files."""
