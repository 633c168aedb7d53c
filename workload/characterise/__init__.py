"""Statistics of dumps: density, zero runs, clustering, the bound of mask coding, and the ratio of every coding."""
