"""Data paths: offload and prefetch from request to result, and the supervisor that ends every transfer."""
