"""A pretrained encoder as a torch module: transformers' BertForSequenceClassification over shared frozen weights.

Deviation from fine-tuning as papers do it: dropout is off in training, too, so a step draws nothing. Columns in which a batch has padding
only are cut off, so the bits of an example's logits depend on its batch, and a batch depends on its job alone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from fedbench.errors import UsageError
from fedbench.tasks.encoder import LORA_MATRICES, EncoderModel
from fedbench.tasks.encoder_files import require_libraries
from fedbench.tasks.lora import adapt
from fedbench.tasks.torch_model import Masks


class Encoder(nn.Module):
    """Takes batches (b, tokens) of ids, or (b, 2, tokens) of ids and token types, as floats, to logits (b, classes)."""

    def __init__(self, network: nn.Module, padding: int) -> None:
        super().__init__()
        self.network, self.padding = network, padding

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        tokens = features.long()
        ids, types = (tokens[:, 0], tokens[:, 1]) if tokens.ndim == 3 else (tokens, torch.zeros_like(tokens))
        mask = ids != self.padding
        used = slice(int(mask.any(0).nonzero().max()) + 1)
        places = torch.arange(ids.shape[1])[None, used]
        logits: torch.Tensor = self.network(
            input_ids=ids[:, used], attention_mask=mask[:, used].long(), token_type_ids=types[:, used], position_ids=places
        ).logits
        return logits

    def set_masks(self, masks: Masks | None) -> None:
        """There is no dropout."""

    def train(self, mode: bool = True) -> Encoder:
        """Always as in evaluation: dropout is off."""
        return super().train(False)


def build_encoder(model: EncoderModel, dtype: torch.dtype = torch.float32) -> Encoder:
    """A module whose trained parameters, those of `model.parameters`, are zeros until they are loaded or flattened. The others need no
    gradient and share memory with `model.weights` (in float32), so with every other module of the model.

    MissingDataError if transformers is not installed; UsageError if this version of it builds other tensors than `model.tensors`.
    """
    require_libraries()
    with torch.device("meta"):  # nothing is allocated or drawn
        network = _network(model)
        if model.rank is not None:
            adapt(network, LORA_MATRICES, model.rank)
    built = [(name, tuple(parameter.shape)) for name, parameter in network.named_parameters()]
    if built != [(tensor.name, tensor.shape) for tensor in model.tensors]:
        raise UsageError(
            f"model {model.name}: this version of transformers builds a BERT of other tensors; {_differing(built, model)}"
        )
    trained = {parameter.name for parameter in model.parameters}
    for name, parameter in list(network.named_parameters()):
        owner = network.get_submodule(name.rpartition(".")[0])
        values = torch.zeros(parameter.shape, dtype=dtype) if name in trained else torch.from_numpy(model.weights[name]).to(dtype)
        setattr(owner, name.rpartition(".")[2], nn.Parameter(values, requires_grad=name in trained))
    for name, _ in list(network.named_buffers()):  # positions and token types, which a forward is given
        setattr(network.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2], None)
    return Encoder(network, model.config.pad_token_id).eval()


def _network(model: EncoderModel) -> nn.Module:
    """Of the numbers in the configuration alone: nothing that a folder's config.json may name is looked up, fetched or executed."""
    from transformers.models.bert.configuration_bert import BertConfig
    from transformers.models.bert.modeling_bert import BertForSequenceClassification

    numbers: dict[str, Any] = model.config.model_dump(exclude={"model_type", "position_embedding_type"})
    config = BertConfig(**numbers, num_labels=model.classes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    network: nn.Module = BertForSequenceClassification._from_config(config, attn_implementation="sdpa")
    return network


def _differing(built: list[tuple[str, tuple[int, ...]]], model: EncoderModel) -> str:
    expected = [(tensor.name, tensor.shape) for tensor in model.tensors]
    one = next(((a, b) for a, b in zip(built, expected, strict=False) if a != b), (len(built), len(expected)))
    return f"expected {one[1]}, got {one[0]}"
