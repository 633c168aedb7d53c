"""What the page of results says between its figures; names in braces are figures."""

from __future__ import annotations

__all__ = ["DENSITIES", "DIFFERENCES", "DUMP", "EFFICIENCIES", "ENGINE", "GUIDE", "LAYOUTS", "LINKS", "LINKS_BELOW",
           "MEMORY", "NETWORKS", "POLICIES", "PUBLISHED", "SUMMARY"]

SUMMARY = """\
- **Ratio.** Activations of a trained SqueezeNet shrink {dump_ratio:.2f} times, those of a small network
  {begin_ratio:.2f} times as its training begins and {end_ratio:.2f} times as it ends; with the densities that are known
  here, what the paper's six networks swap shrinks {ratio:.2f} times. The paper: {paper_ratio} on average.
- **Speed.** A training step that swaps gains {old_average:.0f} % on average and {old_highest:.0f} % at most on a Titan
  X, {new_average:.0f} % and {new_highest:.0f} % on a Titan Xp. The paper: {paper_old_average} % and
  {paper_old_highest} %, {paper_new_average} % and {paper_new_highest} %.
- **What is left.** Where a step without swapping takes 1, plain swapping takes {old_vdnn:.2f} on a Titan X and
  {new_vdnn:.2f} on a Titan Xp, the engine {old_zvc:.2f} and {new_zvc:.2f}.
- **Memory.** Swapping takes {least_saved:.0f} to {most_saved:.0f} % off what the device must hold. The engine does not
  change that: it gives back time that swapping costs.
- **Links of today.** With PCIe 5 on an H100 the engine of sixteen lanes gains {today:.0f} %. NVLink-C2C carries more
  than the engine's port: there it loses {fast:.0f} %, so leave it off."""

GUIDE = """\
`cdma results` computes this page. Ratios of dumps are measured, the engine's throughput is counted in the simulated
Verilog, and times are modelled as [the swapping timeline](timeline.md) says. No figure is fitted to the paper's: Rhu et
al., Compressing DMA Engine, HPCA 2018 (arXiv 1705.01626).

- **density**: share of the values that are not zero. **ratio**: raw bytes over coded bytes.
- **oracle**: a step without swapping, on a device with memory enough. **vdnn**: activations swapped as they are, with
  all of the link.
- **zvc**: swapped through the engine, with zero-value coding. **rle**, **zlib**: an engine of the same throughput with
  the paper's other two codings.
- **speed-up**: step time of vdnn by the row's; 1.25 is what the text calls a gain of 25 %. The oracle's is all that
  there is to gain.
- Averages are over the paper's six networks, each counted once."""

DIFFERENCES = """\
- **Densities.** The paper measured each layer over the whole of training. What is known of that here is one number, its
  average of {paper_density}, and five of the six networks have it behind every ReLU. SqueezeNet has what is counted in
  the shipped dump: one photograph through trained, pruned weights. So this page says nothing of one layer against
  another in those five, nor of how their densities move while they train.
- **Average ratio.** One density gives one ratio, {ratio_of_average:.2f}; layers that differ have a higher average. The
  arrays of the small network average {arrays_ratio:.2f} over its training, where their density in all,
  {arrays_density:.2f}, gives {arrays_together:.2f}. And the input of a network, pictures without zeros, is swapped too.
  A ratio of {paper_ratio} takes a density of {density_of_ratio:.2f} in all that is swapped.
- **Highest ratio.** {paper_highest} takes a layer of density {density_of_highest:.3f}. The sparsest array of the
  shipped dumps, `{sparsest}`, has {sparsest_density:.3f}.
- **Compute times.** The paper measured layers on the GPU; here they come from a roofline at half of the peak. The
  faster the layers, the more of the swapping shows: at {slow} of the peak the average gain on a Titan Xp is
  {slow_gain:.0f} %, at {fast} it is {fast_gain:.0f} %. There is a table below.
- **Which networks gain.** Those with little arithmetic for each byte of activation: most `{most}` ({most_gain:.0f} % on
  a Titan X), least `{least}` ({least_gain:.0f} %). Convolutions that take a roofline's time hide most transfers of
  OverFeat and VGG-16.
- **vDNN itself.** VGG-16 with a batch of 256 loses {vdnn_loss:.0f} % here, not {paper_loss:.0f} %, and needs
  {vdnn_memory:.1f} GB, not {paper_memory:.0f}: our model has neither the work space of convolutions nor the slower
  algorithms that a device short of memory has to take.
- **The engine** is not the reason: with a tensor of the average density it reaches {share:.2f} % of its limit on the
  way out, and takes {start:.0f} cycles more to begin and end."""

NETWORKS = """\
Policy `all`: everything that backward needs is swapped, over 12.8 GB/s (PCIe 3), through the preset `paper` at 1000
MHz. ResNet-50 and a block of a transformer's encoder are not in the paper, and in no average: normalisation, sums and
attention are dense, so they gain less."""

DUMP = """\
Measured array by array, in float32; zvc is the block stream that the engine writes, headers and fallback included. The
bound is what places and values take at least when zeros are strewn at random. [The data's own
page](../workload/data/README.md), `workload/data/README.md`, says where they come from."""

LAYOUTS = """\
Layouts of the same arrays. Zero-value coding has one bit for each value wherever it lies; run-length coding and zlib
live on zeros that lie together. CHWN is NCHW where there is one picture:"""

DENSITIES = """\
The same density behind every ReLU of the six networks, and all else as above. The ratio is that of one tensor, the
gains are average and highest over vdnn:"""

MEMORY = """\
The most that the device holds at any time in a step: weights three times, activations, their gradients; the work space
of convolutions is left out. With all swapped, the fullest layer sets it. (vDNN publishes averages over time instead: 89
% less for AlexNet, 91 % for OverFeat, 95 % for GoogLeNet.)"""

POLICIES = """\
Policies on a Titan X with 12 GB, with batches that it does not hold without swapping. `all`: all that backward needs;
`conv`: what convolutions read; `dynamic`: the first of none, conv and all that fits, as vDNN does; `lms`: tensors of 1
MiB or more once half of the device is in use, as IBM's Large Model Support does:"""

LINKS = """\
The six networks on a GPU that has the link, still in float32. PCIe counts at 80 % of its rate, as in the paper, NVLink
at all of it. Two engines at 1000 MHz: `paper`, whose lanes take {paper_lanes:.0f} GB/s and whose port to the link
carries {paper_port:.0f}, and `wide`, with {wide_lanes:.0f} and {wide_port:.0f}. What a link has beyond the port is lost
on the engine."""

LINKS_BELOW = """\
Step times are multiples of the oracle's, gains are averages over vdnn; lowest and highest are of the engine `wide`. A
faster GPU makes room for gains, a faster link takes it away."""

ENGINE = """\
What the engines reach, from their measured cycles, with a tensor of density {density} over 12.8 GB/s. The balance is
the bandwidth of the lanes over ratio x link; above 1 the link limits. A transfer takes start + bytes / (share x
limit):"""

EFFICIENCIES = """\
The share of the GPU's peak that convolutions reach is an assumption, 0.5 everywhere above. Gains of zvc over vdnn with
others:"""

PUBLISHED = """\
Shapes and sizes are computed from hyper-parameters. Beside them what is published, for one sample; activations are the
values that convolutions and products write:"""
