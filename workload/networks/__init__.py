"""Networks as tables of layers, with shapes computed from hyper-parameters; see
:mod:`cdma.workload.networks.catalog`."""
