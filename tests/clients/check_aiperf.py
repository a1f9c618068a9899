"""The load generator aiperf, unmodified, against a running gateway: a short load of streams whose
requests all succeed, and whose counts are the server's.

usage: check_aiperf.py URL KEY MODEL
"""
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile

import support

REQUESTS, AT_ONCE = 24, 8


# It wants a tokenizer of its own, which it does not need here: the server counts.
TOKENIZER = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
             "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None,
             "decoder": None,
             "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}}


def make_tokenizer(folder):
    path = os.path.join(folder, "tokenizer")
    os.makedirs(path)
    for name, told in (("tokenizer.json", TOKENIZER), ("tokenizer_config.json", {
            "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "?"})):
        with open(os.path.join(path, name), "w", encoding="utf-8") as file:
            json.dump(told, file)
    return path


def load(folder, endpoint):
    prompts = os.path.join(folder, "prompts.jsonl")
    with open(prompts, "w", encoding="utf-8") as file:
        for i in range(REQUESTS):
            file.write(json.dumps({"text": f"Tell me {i} things about rivers."}) + "\n")
    program = os.path.join(os.path.dirname(sys.executable), "aiperf")
    out = os.path.join(folder, endpoint)
    options = {
        "model": support.MODEL, "url": support.URL, "endpoint-type": endpoint,
        "api-key": support.KEY or "none", "tokenizer": make_tokenizer(folder),
        "input-file": prompts, "custom-dataset-type": "single_turn",
        "request-count": str(REQUESTS), "concurrency": str(AT_ONCE), "ui": "none",
        "artifact-dir": out}
    words = [program, "profile", "--streaming", "--use-server-token-count", "--no-gpu-telemetry",
             "--no-server-metrics", "--extra-inputs", "max_tokens:16", "--extra-inputs",
             "ignore_eos:true"]
    for name, value in options.items():
        words += ["--" + name, value]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False,
                          timeout=600)
    found = os.path.join(out, "profile_export_aiperf.json")
    assert os.path.exists(found), done.stdout[-3000:] + done.stderr[-3000:]
    with open(found, encoding="utf-8") as file:
        return json.load(file)


def check_load(endpoint):
    with tempfile.TemporaryDirectory() as folder:
        told = load(folder, endpoint)
    assert told["request_count"]["avg"] == REQUESTS, (
        told["request_count"], told.get("error_request_count"), told.get("error_summary"))
    assert not told.get("error_request_count", {}).get("avg"), told
    assert 0 < told["time_to_first_token"]["avg"], told


@support.check
def chats():
    check_load("chat")


@support.check
def completions():
    check_load("completions")


support.finish("aiperf", importlib.metadata.version("aiperf"))
