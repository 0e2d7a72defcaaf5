"""A pretrained encoder as a torch module: the tensors of transformers'
BertForSequenceClassification over shared frozen weights.

The function is transformers' own up to rounding, with less work. Only attention sees padding, and
the last layer computes only the first token, which is all that the classifier sees. The bits of an
example's logits depend on the other examples of its batch; a batch depends only on its job. Unlike
fine-tuning in papers, dropout is off in training, too, so a step draws nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from fedbench.errors import UsageError
from fedbench.tasks.encoder import LORA_MATRICES, EncoderModel
from fedbench.tasks.encoder_files import require_libraries
from fedbench.tasks.lora import adapt
from fedbench.tasks.torch_model import Words

if TYPE_CHECKING:
    from transformers.models.bert.modeling_bert import BertForSequenceClassification, BertLayer


class Encoder(nn.Module):
    """Maps batches (b, tokens) of ids, or (b, 2, tokens) of ids and token types, as floats, to
    logits (b, classes).

    `network` holds the parameters and the parts of a layer; this class puts them together.
    """

    def __init__(self, network: BertForSequenceClassification, padding: int, heads: int) -> None:
        super().__init__()
        self.network, self.padding, self.heads = network, padding, heads

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        tokens = features.long()
        ids, types = (tokens[:, 0], tokens[:, 1]) if tokens.ndim == 3 else (tokens, torch.zeros_like(tokens))
        mask = ids != self.padding
        mask = mask[:, : int(mask.any(0).nonzero().max()) + 1]  # (b, length): columns of padding alone are cut off
        rows, places = mask.nonzero(as_tuple=True)  # of the n tokens that are there
        first = (mask.cumsum(1) == 1)[rows, places].nonzero().flatten()  # (b,): where each example begins among them
        parts = self.network.bert.embeddings
        x = parts.word_embeddings(ids[rows, places]) + parts.token_type_embeddings(types[rows, places])
        x = parts.LayerNorm(x + parts.position_embeddings(places))  # (n, d)
        *layers, last = self.network.bert.encoder.layer
        for layer in layers:
            x = self._after_attention(layer, x, self._attended(layer, x, mask, None))
        x = self._after_attention(last, x[first], self._attended(last, x, mask, first))
        logits: torch.Tensor = self.network.classifier(self.network.bert.pooler.activation(self.network.bert.pooler.dense(x)))
        return logits

    def _attended(self, layer: BertLayer, x: torch.Tensor, mask: torch.Tensor, first: torch.Tensor | None) -> torch.Tensor:
        """Returns the result of a layer's attention for its tokens x (n, d), or only for the tokens
        at the places `first`."""
        parts = layer.attention.self
        key, value = (self._spread(matrix(x), mask) for matrix in (parts.key, parts.value))
        if first is None:
            query = self._spread(parts.query(x), mask)
        else:
            query = parts.query(x[first]).view(len(first), 1, self.heads, -1).transpose(1, 2)
        found = F.scaled_dot_product_attention(query, key, value, mask[:, None, None]).transpose(1, 2).flatten(2)
        return found[mask] if first is None else found.flatten(0, 1)

    def _spread(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Returns tokens (n, d) as (b, heads, length, d / heads), with zeros for padding."""
        wide = x.new_zeros(mask.numel(), x.shape[1]).index_copy(0, mask.flatten().nonzero().flatten(), x)
        return wide.view(*mask.shape, self.heads, -1).transpose(1, 2)

    def _after_attention(self, layer: BertLayer, x: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        """Returns the result of a layer from that of its attention. For every token it is two sums,
        each with a norm, and a map through a wider space between them."""
        x = layer.attention.output.LayerNorm(layer.attention.output.dense(attended) + x)
        wide = layer.intermediate.intermediate_act_fn(layer.intermediate.dense(x))
        y: torch.Tensor = layer.output.LayerNorm(layer.output.dense(wide) + x)
        return y

    def set_masks(self, masks: Words | None) -> None:
        """There is no dropout."""


def build_encoder(model: EncoderModel, dtype: torch.dtype = torch.float32) -> Encoder:
    """A module whose trained parameters, those of `model.parameters`, are zeros until they are
    loaded or flattened. The others need no gradient and share memory with `model.weights` (in
    float32), so with every other module of the model.

    MissingDataError if transformers is not installed; UsageError if this version of it builds other
    tensors than `model.tensors`.
    """
    require_libraries()
    with torch.device("meta"):  # nothing is allocated or drawn
        network = _network(model)
        if model.rank is not None:
            adapt(network, LORA_MATRICES, model.rank)
    built = [(name, tuple(parameter.shape)) for name, parameter in network.named_parameters()]
    if built != [(tensor.name, tensor.shape) for tensor in model.tensors]:
        raise UsageError(f"model {model.name}: this version of transformers builds a BERT of other tensors: {built!s:.2000}")
    trained = {parameter.name for parameter in model.parameters}
    for name, shape in built:
        is_trained = name in trained
        values = torch.zeros(shape, dtype=dtype) if is_trained else torch.from_numpy(model.weights[name]).to(dtype)
        _replace(network, name, nn.Parameter(values, requires_grad=is_trained))
    for name, _ in list(network.named_buffers()):  # positions and token types, which are not looked at
        _replace(network, name, None)
    return Encoder(network, model.config.pad_token_id, model.config.num_attention_heads)


def _replace(network: nn.Module, name: str, by: nn.Parameter | None) -> None:
    owner, _, attribute = name.rpartition(".")
    setattr(network.get_submodule(owner), attribute, by)


def _network(model: EncoderModel) -> nn.Module:
    """Makes the module from the numbers in the configuration alone. Nothing that it may name is
    looked up, fetched or executed."""
    from transformers.models.bert.configuration_bert import BertConfig
    from transformers.models.bert.modeling_bert import BertForSequenceClassification

    numbers: dict[str, object] = model.config.model_dump(exclude={"model_type", "position_embedding_type"})
    network: nn.Module = BertForSequenceClassification(BertConfig(**numbers, num_labels=model.classes))
    return network
