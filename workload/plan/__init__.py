"""Plans: predicted cycles of transfers, the treatment that each tensor gets, files of plans, and self-tuning."""
