"""The phases of the CUDA kernels on the host, without a GPU or PyTorch."""
