"""Run EsmModel, exported to ONNX, with ONNX Runtime and OpenVINO."""

import contextlib
import io
import logging
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.infer._inputs import MAX_RESIDUES, Ids, InferenceTask

PLAIN, INT8 = "network.onnx", "int8.onnx"
Work = Callable[[], list[Any]]


def export_onnx(folder: Path) -> None:
    """Write the network as ONNX, and again with 8-bit weights."""
    quantization = import_module("onnxruntime.quantization")
    model = import_module("transformers").EsmModel
    logging.disable(logging.WARNING)
    network: Any = model.from_pretrained(folder, add_pooling_layer=False).eval()
    prepared = folder / "prepared.onnx"
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        _write_onnx(_HiddenStatesWrapper(network).eval(), folder / PLAIN)
        quantization.quant_pre_process(str(folder / PLAIN), str(prepared))
        quantization.quantize_dynamic(
            prepared, folder / INT8, weight_type=quantization.QuantType.QInt8
        )


def _write_onnx(network: torch.nn.Module, path: Path) -> None:
    """Write a network as ONNX; the input of the network is one record of any length."""
    length = torch.export.Dim("length", min=2, max=MAX_RESIDUES + 2)
    torch.onnx.export(
        network,
        (torch.full((1, 40), 5),),
        str(path),
        input_names=["input_ids"],
        output_names=["hidden"],
        dynamic_shapes={"input_ids": {1: length}},
        dynamo=True,
    )


class _HiddenStatesWrapper(torch.nn.Module):
    """Wrapper that returns only the last hidden states."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Map ids ``(1, l)`` to states ``(1, l, width)``."""
        return self.network(input_ids=input_ids).last_hidden_state


def prepare_onnxruntime(task: InferenceTask, file: str) -> Work:
    """Return a function that runs one record at a time with ONNX Runtime on one thread."""
    onnxruntime = import_module("onnxruntime")

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    session = onnxruntime.InferenceSession(
        str(task.folder / file), options, providers=["CPUExecutionProvider"]
    )
    inputs = [{"input_ids": ids[None]} for ids in task.records]
    return lambda: [np.asarray(session.run(None, each)[0])[0] for each in inputs]


def prepare_openvino(task: InferenceTask, precision: str) -> Work:
    """Return a function that runs one record at a time with OpenVINO on one thread."""
    openvino = import_module("openvino")

    settings: Any = {
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": precision,
    }
    path = str(task.folder / PLAIN)
    request = openvino.Core().compile_model(path, "CPU", settings).create_infer_request()

    def compute_hidden_states(ids: Ids) -> Any:
        return next(iter(request.infer([ids[None]]).values()))[0].copy()

    return lambda: [compute_hidden_states(ids) for ids in task.records]
