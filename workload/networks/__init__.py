"""Networks as tables of layers; shapes come from hyper-parameters (:mod:`cdma.workload.networks.catalog`)."""
