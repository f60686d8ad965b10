"""Records: the saved arrays and metadata of modules and optimisers, and record files."""

from seqloom.record._array import LazyArray
from seqloom.record._json_gz import JsonGz
from seqloom.record._load import load
from seqloom.record._precision import BFloat16, Double, Full, Half, Precision
from seqloom.record._record import Record, Recorder
from seqloom.record._safetensors import Safetensors
from seqloom.record._source import RecordSource

__all__ = [
    "BFloat16",
    "Double",
    "Full",
    "Half",
    "JsonGz",
    "LazyArray",
    "Precision",
    "Record",
    "RecordSource",
    "Recorder",
    "Safetensors",
    "load",
]
