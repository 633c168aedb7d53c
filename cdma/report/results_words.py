"""The text of the page of results; names in braces stand for figures."""

from __future__ import annotations

__all__ = ["DENSITIES", "DIFFERENCES", "DRIFT", "DUMP", "EFFICIENCIES", "ENGINE", "GUIDE", "LAYOUTS", "LINKS",
           "LINKS_BELOW", "MEMORY", "NETWORKS", "OFFLOADS", "OFFLOADS_BELOW", "POLICIES", "PUBLISHED", "SOFTWARE",
           "SOFTWARE_BELOW", "SUMMARY", "TODAY", "TODAY_BELOW"]

SUMMARY = """\
**Beside asynchronous offload, the engine makes training steps of today {worth_least:.0f} to {worth_most:.0f} % faster
where swapping is worth it, {async_most:.0f} % at most where it costs most, and no faster where offload hides.**

- **Today.** Training steps of transformers in bfloat16 that swap their activations (GPT-2, Llama 3, ViT) have nothing
  to gain from zeros: their ratio by zero-value coding is {dense_zvc:.2f}. With exponents it is {dense_least:.2f} to
  {dense_most:.2f}. Beside asynchronous offload that uses the memory which is free, as frameworks can, steps on A100,
  H100, H200 and B200 gain {async_least:.0f} to {async_most:.0f} %, the most where swapping costs most: it makes a
  step {plain_least:.2f} to {plain_most:.2f} times as long without the engine, and {swap_least:.2f} to {swap_most:.2f}
  times with it. Where swapping costs less than computing all activations again would (a third of a step), the engine
  gains {worth_least:.0f} to {worth_most:.0f} %: that is the figure to plan with. Where offload hides behind
  computing, it gains nothing. Where a squared ReLU brings zeros back, the ratio is {relu_zvc:.2f} by zeros and
  {relu_exponents:.2f} by exponents.
- **The paper's question.** All that follows is about the paper's networks, in float32.
- **Ratio.** Activations of a trained SqueezeNet have a ratio of {first[ratio][zvc]:.2f}. Those of a small network
  have {begin[ratio][zvc]:.2f} at the beginning of its training and {end[ratio][zvc]:.2f} at the end. With the
  densities that are known here, the swapped tensors of the paper's six networks have {old[here][average_ratio]:.2f}
  on average by bytes, and {old[here][tensor_ratio]:.2f} if all tensors count alike; the paper has
  {old[paper][average_ratio]} and does not say how it weighs.
- **Speed.** The engine makes training steps that swap {old[here][average_gain]:.0f} % faster on average and
  {old[here][highest_gain]:.0f} % at most on a Titan X, {new[here][average_gain]:.0f} % and
  {new[here][highest_gain]:.0f} % on a Titan Xp. The paper has {old[paper][average_gain]} % and
  {old[paper][highest_gain]} %, {new[paper][average_gain]} % and {new[paper][highest_gain]} %.
- **Remaining cost.** Plain swapping makes a step {old[slowdown][vdnn]:.2f} times as long on a Titan X and
  {new[slowdown][vdnn]:.2f} times on a Titan Xp; with the engine it is {old[slowdown][zvc]:.2f} and
  {new[slowdown][zvc]:.2f} times as long.
- **Memory.** Swapping reduces the memory that a step needs on the device by {least_saved:.0f} to {most_saved:.0f} %.
  The engine does not change that: it reduces the time that swapping costs.
- **Newer links.** With PCIe 5 on an H100 the engine of sixteen lanes gains {faster:.0f} %. NVLink-C2C has more
  bandwidth than the engine's port, so a step loses {fast:.0f} % of its speed with the engine: do not use it there."""

TODAY = """\
Networks in bfloat16 on GPUs with tensor cores, each with its own link at 80 % of its rate, through the preset `paper`
up to 32 GB/s and `wide` above. {shards} GPUs share the weights, as FSDP does, and the published batch is doubled until
the step does not fit without swapping. Plain offload is `vdnn` below: `sync` waits at each layer, as vDNN does; `async`
has a queue of transfers that may be behind as far as memory is free ([rules](timeline.md#asynchronous-swapping)), so
what need not go stays. Times are multiples of a step without swapping; gains are over plain offload with the same
schedule:"""

TODAY_BELOW = """\
Ratios are measured on the shipped dump of a small transformer, by what made each tensor's values
(`workload/networks/ratios.json`), and steps take the times of a roofline. Two assumptions have much influence. That
large networks have exponents like a small one: characterise a dump of yours. That the values behind the squared ReLU
of `relu2` have a density of {density}, as they have in a small network that
`cdma capture --example relu2` trains: give yours with `--density`. A device holds its part of
{copies} copies of the weights in float32, for Adam; what the GPUs exchange takes no time here. Where a step becomes
several times as long, as of `gpt2` and `vit`, nobody swaps: computing again costs less
([alternatives](alternatives.md))."""

OFFLOADS = """\
Published beside modelled: torchtitan offloads activations of Llama 8B on 8 H100 up to a budget on the host
(`cpu_offload_budget_gb`, in GiB for each GPU; [3521](https://github.com/pytorch/torchtitan/pull/3521),
[3522](https://github.com/pytorch/torchtitan/pull/3522)). Selective checkpointing keeps the outputs of products and
attention; of these, the largest go first (`--policy budget`). The end of an offload may be some transformer blocks
behind. Here, cheap layers are computed again, 8,192 positions are a step, and both directions have the same
look-ahead. The loss is of throughput; "exponents" is that through the engine:"""

OFFLOADS_BELOW = """\
The first and the last loss are within 3 points of what is published. Those of 8 and 10 GiB keep the bound and are
lower: {here8:.1f} and {here10:.1f} %. The model has the link to itself at 80 % of its rate; there, eight GPUs copy to
the memory of one host, and gather weights meanwhile. If each link reached half of its rate, the model would lose
{half8:.1f} and {half10:.1f} %, but {half100:.0f} % in the last row: no one rate explains all. That row saves
{saved100:.0f} % of memory here and {published100} % there: more is offloaded here, and what torchtitan could not
offload is not published. With budgets of 5 to 10 GiB the engine has no time to gain: it takes fewer bytes on the host
and on the link."""

SOFTWARE = """\
[`cdma.gpu`](gpu.md) writes the same streams on the GPU, in time of its SMs. {where} Steps offload each tensor of 1 MiB
or more, a block behind at most; the engine is modelled on an {gpu} with a link of {link:.1f} GB/s. Energy is not
measured here, and the sources of [peers](peers.md) have none of such codecs:"""

SOFTWARE_BELOW = """\
Software suffices where SMs wait for PCIe: the codecs that others publish are several times as fast. It does not where a
link of 450 GB/s is about as fast as they are; where SMs are full, since what is coded there delays the step; and in
decoding with KV caches, where a token waits for the codec's launches too. The engine takes no SMs, but at 450 GB/s
needs [a wider port](#other-links)."""

GUIDE = """\
`cdma results` computes this page. Ratios of dumps are measured, the engine's throughput is counted in the simulated
Verilog, and times come from the model of [the swapping timeline](timeline.md). No figure is fitted to the paper's: Rhu
et al., Compressing DMA Engine, HPCA 2018 (arXiv 1705.01626).

- **density**: share of the values that are not zero. **ratio**: raw bytes divided by coded bytes.
- **oracle**: a step without swapping, on a device with enough memory. **vdnn**: activations are swapped without coding,
  with the whole bandwidth of the link.
- **zvc**: activations are swapped through the engine, with zero-value coding. **exponents**: with the one of the
  engine's codings that makes the values smallest. **rle**, **zlib**: an engine with the same throughput and the paper's
  other two codings.
- **speed-up**: step time of vdnn divided by that of the row. The text calls a speed-up of 1.25 a gain of 25 %. The
  speed-up of the oracle is the highest possible.
- Averages are over the paper's six networks with equal weight."""

DIFFERENCES = """\
- **Densities.** The paper measured each layer over the whole training, and publishes the average only,
  {engines[density]}. Here AlexNet, VGG-16 and GoogLeNet have densities that are published by layer, of inference with
  trained networks; SqueezeNet has those of the shipped dump, and published ones where the dump has no array; OverFeat
  and Network in Network have {engines[density]} behind every ReLU. [The timeline](timeline.md#densities) names the
  sources.
- **Average ratio.** It is {first[here][average_ratio]:.2f} weighted by bytes, and {first[here][tensor_ratio]:.2f} as
  the mean of all {sparsest[tensors]} swapped tensors; the paper has {first[paper][average_ratio]} and does not say how
  it weighs. One density of {engines[density]} everywhere would give {ratio_of_average:.2f}; for a ratio of
  {first[paper][average_ratio]} by bytes all that is swapped, pictures too, must have a density of
  {density_of_ratio:.2f}.
- **Highest ratio.** A ratio of {first[paper][highest_ratio]} needs a layer with a density of
  {density_of_highest:.3f}. The sparsest tensor here is `{sparsest[tensor]}` of {sparsest[network]}, with
  {sparsest[density]:.3f} and a ratio of {sparsest[ratio]:.2f}.
- **Compute times.** The paper measured layers on the GPU; here times come from a roofline at half of the peak. Faster
  layers hide less of the swapping: at {slow[efficiency]} of the peak the average gain on a Titan Xp is
  {slow[headlines][titan-xp][average_gain]:.0f} %, at {fast[efficiency]} it is
  {fast[headlines][titan-xp][average_gain]:.0f} %.
- **vDNN itself.** VGG-16 with a batch of 256 loses {vdnn[here][loss]:.0f} % here and {vdnn[paper][loss]:.0f} % in the
  paper, with {vdnn[here][memory_gb]:.1f} and {vdnn[paper][memory_gb]:.0f} GB. Our model has no work space for
  convolutions, and not the slower algorithms that a device with too little memory must use.
- **CSWAP** compresses with the GPU's own cores, and chooses tensors of other networks by what they gain."""

NETWORKS = """\
Policy `all`: all tensors that backward needs are swapped, over 12.8 GB/s (PCIe 3), through the preset `paper` at 1000
MHz. ResNet-50 and a block of a transformer's encoder are not in the paper and in no average. They gain less, because
the outputs of normalisation, sums and attention are dense."""

DUMP = """\
Measured array by array, in the type of its values; zvc is the block stream of zero-value coding, headers and raw blocks
included, and exponent the block stream with [exponents](formats.md#exponents). Engines write both, as they were built.
The bound is the least size that places and values need if the zeros are at random places and values are stored as they
are.
[The page of the data](../workload/data/README.md), `workload/data/README.md`, says where the dumps come from."""

LAYOUTS = """\
The same arrays in other layouts. Zero-value coding takes one bit for each value in any layout; run-length coding and
zlib need zeros that are next to each other, exponent coding values of like size. With one picture, CHWN is the same as
NCHW:"""

DRIFT = """\
Published densities are those of trained networks. While a network trains, its densities fall and rise again; the
shipped run of a small network shows by how much. The table has what that change would do to the networks whose
densities are known by layer ({networks}): all their densities are multiplied by the factor, which is the density of
the run's activations at that time divided by that at its end. That other networks change in the same way is an
assumption, and no other table on this page has it. Both ratios are those of zero-value coding, gains those over
vdnn:"""

DENSITIES = """\
The same density behind every ReLU of the six networks; everything else as above. The ratio is that of one tensor; gains
are average and highest, over vdnn:"""

MEMORY = """\
The most memory that a step needs on the device at any time: three times the weights, activations, and their gradients,
without the work space of convolutions. If all is swapped, the layer with the largest tensors sets it. (vDNN publishes
averages over time: 89 % less for AlexNet, 91 % for OverFeat, 95 % for GoogLeNet.)"""

POLICIES = """\
Policies on a Titan X with 12 GB, with batches that do not fit without swapping. `all`: all tensors that backward needs;
`conv`: tensors that convolutions read; `dynamic`: none, conv or all, the first that fits, as in vDNN; `lms`: tensors of
1 MiB or more once half of the device's memory is in use, as in IBM's Large Model Support; `budget`: the largest
tensors, 5 GB together, as in torchtitan:"""

LINKS = """\
The six networks on a GPU that has the link, still in float32. PCIe is taken at 80 % of its rate, as in the paper, and
NVLink at its full rate. There are two engines at 1000 MHz: the lanes of `paper` take {paper_lanes:.0f} GB/s and its
port to the link carries {paper_port:.0f}; for `wide` it is {wide_lanes:.0f} and {wide_port:.0f}. An engine cannot use
bandwidth of a link beyond that of its port."""

LINKS_BELOW = """\
Step times are multiples of the oracle's; gains are averages over vdnn; lowest and highest are those of the engine
`wide`. A faster GPU increases the gain, a faster link decreases it."""

ENGINE = """\
Throughput of the engines, from their measured cycles, for a tensor of density {density} over 12.8 GB/s. The balance is
the bandwidth of the lanes divided by ratio x link; above 1 the link is the limit. A transfer takes start + bytes /
(share x limit):"""

EFFICIENCIES = """\
The share of the GPU's peak that convolutions reach is an assumption: 0.5 in all tables above. Gains of zvc over vdnn
with other shares:"""

PUBLISHED = """\
Sizes computed from the hyper-parameters of the networks, beside published ones, for one sample. Activations are the
values that convolutions and products write:"""
