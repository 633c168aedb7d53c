"""The link side: aggregator and distributor of the block stream, realigner, verdict, CRC-32C, and the link writer."""
