"""What to compress: for every tensor a treatment, by the time of its transfer that computing does not hide."""
