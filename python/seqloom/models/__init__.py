"""Networks, their tasks, and the run folders of trained models."""

from seqloom.models._bpnet import BPNet, BPNetConfig
from seqloom.models._bpnet_files import load_bpnet, load_chrombpnet
from seqloom.models._chrombpnet import ChromBPNet, ChromBPNetConfig
from seqloom.models._conv_tower import ConvTower, ConvTowerConfig
from seqloom.models._ensemble import Ensemble, EnsembleConfig
from seqloom.models._esm2 import ESM2, ESM2Config
from seqloom.models._esm2_lora import ESM2LoRA, ESM2LoRAConfig
from seqloom.models._examples import Examples
from seqloom.models._genotype_mlp import GenotypeMLP, GenotypeMLPConfig
from seqloom.models._head import Head, HeadConfig
from seqloom.models._onnx._module import OnnxModule, from_onnx
from seqloom.models._packed_huggingface import PackedHuggingFace, packed_huggingface
from seqloom.models._sequence_cnn import SequenceCNN, SequenceCNNConfig
from seqloom.models._sequence_linear import SequenceLinear, SequenceLinearConfig
from seqloom.models._task import Classify, Custom, Multilabel, Profile, Regress, Task
from seqloom.models._torch_module import TorchModule
from seqloom.models._tracks import TrackOutputs
from seqloom.models._trained import Trained, load

__all__ = [
    "ESM2",
    "BPNet",
    "BPNetConfig",
    "ChromBPNet",
    "ChromBPNetConfig",
    "Classify",
    "ConvTower",
    "ConvTowerConfig",
    "Custom",
    "ESM2Config",
    "ESM2LoRA",
    "ESM2LoRAConfig",
    "Ensemble",
    "EnsembleConfig",
    "Examples",
    "GenotypeMLP",
    "GenotypeMLPConfig",
    "Head",
    "HeadConfig",
    "Multilabel",
    "OnnxModule",
    "PackedHuggingFace",
    "Profile",
    "Regress",
    "SequenceCNN",
    "SequenceCNNConfig",
    "SequenceLinear",
    "SequenceLinearConfig",
    "Task",
    "TorchModule",
    "TrackOutputs",
    "Trained",
    "from_onnx",
    "load",
    "load_bpnet",
    "load_chrombpnet",
    "packed_huggingface",
]
