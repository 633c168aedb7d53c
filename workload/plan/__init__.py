"""Which treatment each tensor gets, by the time of its transfers that computing does not hide; and self-tuning."""
