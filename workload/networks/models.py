"""The tables of the networks: the paper's six, ResNet-50 and a transformer's encoder, and transformers of today."""

from __future__ import annotations

from typing import Any

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.decoder import DecoderBuilder
from cdma.workload.networks.layers import Network

__all__ = ["alexnet", "googlenet", "gpt2", "gpt2_xl", "llama", "moe", "nin", "overfeat", "relu2", "resnet50",
           "squeezenet", "transformer", "vgg16", "vit"]


def alexnet(batch: int = 256) -> Network:
    """Krizhevsky et al. 2012; 60,965,224 parameters. Two groups in three of the convolutions, one input crop of 227."""
    net = Builder("alexnet", "Krizhevsky et al. 2012, as Caffe's bvlc_alexnet", batch, (3, 227, 227))
    net.conv("conv1", 96, 11, 4)
    net.lrn("norm1")
    net.pool("pool1", 3, 2)
    net.conv("conv2", 256, 5, pad=2, groups=2)
    net.lrn("norm2")
    net.pool("pool2", 3, 2)
    net.conv("conv3", 384, 3, pad=1)
    net.conv("conv4", 384, 3, pad=1, groups=2)
    net.conv("conv5", 256, 3, pad=1, groups=2)
    net.pool("pool5", 3, 2)
    return _classified(net, 4096)


def overfeat(batch: int = 256) -> Network:
    """Sermanet et al. 2013, table 1; 145,920,872 parameters."""
    net = Builder("overfeat", "Sermanet et al. 2013, the fast model of table 1", batch, (3, 231, 231))
    net.conv("conv1", 96, 11, 4)
    net.pool("pool1", 2, 2)
    net.conv("conv2", 256, 5)
    net.pool("pool2", 2, 2)
    net.conv("conv3", 512, 3, pad=1)
    net.conv("conv4", 1024, 3, pad=1)
    net.conv("conv5", 1024, 3, pad=1)
    net.pool("pool5", 2, 2)
    return _classified(net, 3072)


def _classified(net: Builder, features: int) -> Network:
    """A network with three fully connected layers at its end, of which the first has so many features."""
    for name, size in (("fc6", features), ("fc7", 4096)):
        net.fc(name, size)
        net.dropout(f"{name}/dropout")
    net.fc("fc8", 1000, relu=False)
    return net.network()


def nin(batch: int = 128) -> Network:
    """Lin et al. 2014; 7,595,176 parameters."""
    net = Builder("nin", "Lin et al. 2014, as the ImageNet model of Caffe's model zoo", batch, (3, 224, 224))
    net.conv("conv1", 96, 11, 4)
    net.conv("cccp1", 96, 1)
    net.conv("cccp2", 96, 1)
    net.pool("pool1", 3, 2)
    net.conv("conv2", 256, 5, pad=2)
    net.conv("cccp3", 256, 1)
    net.conv("cccp4", 256, 1)
    net.pool("pool2", 3, 2)
    net.conv("conv3", 384, 3, pad=1)
    net.conv("cccp5", 384, 1)
    net.conv("cccp6", 384, 1)
    net.pool("pool3", 3, 2)
    net.dropout("drop")
    net.conv("conv4", 1024, 3, pad=1)
    net.conv("cccp7", 1024, 1)
    net.conv("cccp8", 1000, 1)
    net.global_pool("pool4")
    return net.network()


def vgg16(batch: int = 128) -> Network:
    """Simonyan and Zisserman 2014, table 1, column D; 138,357,544 parameters."""
    net = Builder("vgg16", "Simonyan and Zisserman 2014, configuration D", batch, (3, 224, 224))
    for stage, (layers, channels) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), 1):
        for layer in range(1, layers + 1):
            net.conv(f"conv{stage}_{layer}", channels, 3, pad=1)
        net.pool(f"pool{stage}", 2, 2)
    return _classified(net, 4096)


def squeezenet(batch: int = 512) -> Network:
    """Iandola et al. 2016, table 1; 1,248,424 parameters.
    Layers have the names of its authors' model, which the shipped dump has as well."""
    net = Builder("squeezenet", "Iandola et al. 2016, version 1.0", batch, (3, 227, 227))
    net.conv("conv1", 96, 7, 2)
    net.pool("pool1", 3, 2)
    for number, squeeze in enumerate((16, 16, 32, 32, 48, 48, 64, 64), 2):
        fire = f"fire{number}"
        squeezed = net.conv(f"{fire}/squeeze1x1", squeeze, 1)
        wide = [net.conv(f"{fire}/expand1x1", 4 * squeeze, 1, after=squeezed),
                net.conv(f"{fire}/expand3x3", 4 * squeeze, 3, pad=1, after=squeezed)]
        net.concat(f"{fire}/concat", wide)
        if number in (4, 8):
            net.pool(f"pool{number}", 3, 2)
    net.dropout("drop9")
    net.conv("conv10", 1000, 1)
    net.global_pool("pool10")
    return net.network()

_MODULES = (
    ("3a", 64, (96, 128), (16, 32), 32),
    ("3b", 128, (128, 192), (32, 96), 64),
    ("4a", 192, (96, 208), (16, 48), 64),
    ("4b", 160, (112, 224), (24, 64), 64),
    ("4c", 128, (128, 256), (24, 64), 64),
    ("4d", 112, (144, 288), (32, 64), 64),
    ("4e", 256, (160, 320), (32, 128), 128),
    ("5a", 256, (160, 320), (32, 128), 128),
    ("5b", 384, (192, 384), (48, 128), 128),
)
_POOLS = {"3b": "pool3", "4e": "pool4"}


def googlenet(batch: int = 256) -> Network:
    """Szegedy et al. 2014, table 1; 6,998,552 parameters."""
    net = Builder("googlenet", "Szegedy et al. 2014, as Caffe's bvlc_googlenet without auxiliary classifiers", batch,
                  (3, 224, 224))
    net.conv("conv1", 64, 7, 2, pad=3)
    net.pool("pool1", 3, 2)
    net.lrn("norm1")
    net.conv("conv2_reduce", 64, 1)
    net.conv("conv2", 192, 3, pad=1)
    net.lrn("norm2")
    last = net.pool("pool2", 3, 2)
    for name, one, three, five, pool in _MODULES:
        last = net.inception(f"inception_{name}", last, one, three, five, pool)
        if name in _POOLS:
            last = net.pool(_POOLS[name], 3, 2)
    net.global_pool("pool5")
    net.dropout("drop")
    net.fc("fc", 1000, relu=False)
    return net.network()


def resnet50(batch: int = 64) -> Network:
    """He et al. 2015, table 1; 25,557,032 parameters. The stride is in the 3x3 convolutions."""
    net = Builder("resnet50", "He et al. 2015, as torchvision's resnet50", batch, (3, 224, 224))
    _conv_norm(net, "conv1", 64, 7, 2, 3)
    last = net.pool("pool1", 3, 2, pad=1, ceil=False)
    for stage, (blocks, channels) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 1):
        for number in range(1, blocks + 1):
            name, stride = f"layer{stage}.{number}", 2 if stage > 1 and number == 1 else 1
            _conv_norm(net, f"{name}.conv1", channels, 1, after=last)
            _conv_norm(net, f"{name}.conv2", channels, 3, stride, 1)
            wide = _conv_norm(net, f"{name}.conv3", 4 * channels, 1, relu=False)
            # The first block of a stage has other channels, so its shortcut has a convolution.
            short = last if number > 1 else _conv_norm(net, f"{name}.shortcut", 4 * channels, 1, stride, relu=False,
                                                       after=last)
            last = net.add(f"{name}.add", [wide, short], relu=True)
    net.global_pool("pool5")
    net.fc("fc", 1000, relu=False)
    return net.network()


def _conv_norm(net: Builder, name: str, channels: int, kernel: int, stride: int = 1, pad: int = 0, relu: bool = True,
               after: str | None = None) -> str:
    net.conv(name, channels, kernel, stride, pad, bias=False, relu=False, after=after)
    return net.norm(f"{name}.norm", relu=relu)


def transformer(batch: int = 64, blocks: int = 1, positions: int = 512, features: int = 512, heads: int = 8,
                hidden: int = 2048) -> Network:
    """Vaswani et al. 2017, the base model's encoder; 3,152,384 parameters a block."""
    net = Builder("transformer", "Vaswani et al. 2017, an encoder block of the base model", batch,
                  (positions, features))
    for number in range(1, blocks + 1):
        net.transformer_block(f"block{number}", heads, hidden)
    return net.network()


def gpt2(batch: int = 8, positions: int = 1024, dtype: str = "bfloat16", compute: str = "", blocks: int = 12,
         features: int = 768, heads: int = 12, name: str = "gpt2") -> Network:
    """Radford et al. 2019, the smallest; 124,439,808 parameters, as the released weights have."""
    about = f"Radford et al. 2019, {blocks} blocks of {features} features"
    return _decoder(name, about, batch, positions, dtype, compute, 50257, features, blocks, "layer", learned=True,
                    tied=True, heads=heads, hidden=4 * features, activation="gelu", bias=True, rotary=False)


def gpt2_xl(batch: int = 1, positions: int = 1024, dtype: str = "bfloat16", compute: str = "") -> Network:
    """Radford et al. 2019, the largest; 1,557,611,200 parameters."""
    return gpt2(batch, positions, dtype, compute, 48, 1600, 25, "gpt2-xl")


def llama(batch: int = 1, positions: int = 8192, dtype: str = "bfloat16", compute: str = "", blocks: int = 32,
          groups: int = 8, hidden: int = 14336, words: int = 128256,
          about: str = "Dubey et al. 2024, Llama 3 8B: 32 blocks of 4096 features") -> Network:
    """Llama 3 8B; 8,030,261,248 parameters. Llama 2 7B (Touvron et al. 2023) has 32 groups, 11008 hidden features and
    32000 words."""
    return _decoder("llama", about, batch, positions, dtype, compute, words, 4096, blocks, heads=32, groups=groups,
                    hidden=hidden)


def relu2(batch: int = 1, positions: int = 4096, dtype: str = "bfloat16", compute: str = "",
          blocks: int = 32) -> Network:
    """Nemotron-4 15B (Parmar et al. 2024): squared ReLU, as So et al. 2021 (Primer) found."""
    return _decoder("relu2", "Parmar et al. 2024, Nemotron-4 15B: squared ReLU (So et al. 2021), 32 blocks of 6144 "
                    "features", batch, positions, dtype, compute, 256000, 6144, blocks, "layer", heads=48, groups=8,
                    hidden=4 * 6144, activation="relu2")


def moe(batch: int = 1, positions: int = 32768, dtype: str = "bfloat16", compute: str = "",
        blocks: int = 32) -> Network:
    """Mixtral 8x7B (Jiang et al. 2024): two of eight experts for each position."""
    return _decoder("moe", "Jiang et al. 2024, Mixtral 8x7B: 2 of 8 experts, 32 blocks of 4096 features", batch,
                    positions, dtype, compute, 32000, 4096, blocks, heads=32, groups=8, hidden=14336, experts=8,
                    active=2)


def _decoder(name: str, about: str, batch: int, positions: int, dtype: str, compute: str, words: int, features: int,
             blocks: int, norm: str = "rms", learned: bool = False, tied: bool = False, **block: Any) -> Network:
    net = DecoderBuilder(name, about, batch, (positions,), dtype, compute)
    net.embedding("embedding", words, features, learned)
    for number in range(1, blocks + 1):
        net.decoder_block(f"block{number}", norm=norm, **block)
    net.rms_norm("norm") if norm == "rms" else net.layer_norm("norm")
    net.scores("head", words, tied)
    return net.network()


def vit(batch: int = 64, dtype: str = "bfloat16", compute: str = "", blocks: int = 12) -> Network:
    """Dosovitskiy et al. 2021, ViT-B/16 for 1000 classes; 86,567,656 parameters."""
    net = DecoderBuilder("vit", "Dosovitskiy et al. 2021, ViT-B/16: 12 blocks of 768 features", batch, (3, 224, 224),
                         dtype, compute)
    net.conv("patches", 768, 16, stride=16, relu=False)
    net.tokens("tokens")
    for number in range(1, blocks + 1):
        net.decoder_block(f"block{number}", 12, 3072, activation="gelu", norm="layer", bias=True, rotary=False,
                          causal=False)
    net.layer_norm("norm")
    net.pick("class")
    net.scores("head", 1000, bias=True)
    return net.network()
