"""The same request through the SDK, curl and troupe generate: the same text, streamed or not,
alone or among others.

usage: check_same_text.py URL KEY MODEL
"""
import asyncio
import json
import os
import shutil
import subprocess

import openai
import support

client, aclient = support.openai_clients(openai)
MODEL = support.MODEL
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TROUPE = os.path.join(ROOT, "build/release/bin/troupe")
WEIGHTS = os.path.join(ROOT, "weights/SmolLM2-135M-Instruct.Q4_1.gguf")
QUESTIONS = [
    {"messages": [{"role": "user", "content": text}], **draw}
    for text in ("Name three rivers in France.", "Write a line about the sea: Grüße, 海, 🌊.")
    for draw in ({"temperature": 0}, {"temperature": 0.8, "seed": 11})]
WHOLE = {}


def of(question):
    return {"model": MODEL, "max_tokens": 32, **question}


def text_of(number):
    if number not in WHOLE:
        answer = client.chat.completions.create(**of(QUESTIONS[number]))
        WHOLE[number] = answer.choices[0].message.content
        assert WHOLE[number], QUESTIONS[number]
    return WHOLE[number]


@support.check
def streamed_is_whole():
    for number, question in enumerate(QUESTIONS):
        chunks = client.chat.completions.create(**of(question), stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        assert text == text_of(number), (text, text_of(number))


@support.check
def among_32_others():
    async def one(number):
        answer = await aclient.chat.completions.create(**of(QUESTIONS[number]))
        return answer.choices[0].message.content

    async def run():
        numbers = [i % len(QUESTIONS) for i in range(33)]
        got = await asyncio.gather(*(one(number) for number in numbers))
        assert got == [text_of(number) for number in numbers]
        await aclient.close()

    asyncio.run(run())


@support.check
def curl_says_the_same():
    curl = shutil.which("curl")
    assert curl, "curl is not installed"
    for number, question in enumerate(QUESTIONS):
        done = subprocess.run(
            [curl, "-sS", support.URL + "/v1/chat/completions",
             "-H", "Content-Type: application/json",
             "-H", "Authorization: Bearer " + support.KEY, "-d", "@-"],
            input=json.dumps(of(question)), capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["choices"][0]["message"]["content"] == text_of(number)


@support.check
def generate_says_the_same():
    if MODEL != "smollm2" or not os.path.exists(WEIGHTS):
        return  # another server than the one that check-clients starts
    for number, question in enumerate(QUESTIONS):
        seed = ["--seed", str(question["seed"])] if "seed" in question else []
        done = subprocess.run(
            [TROUPE, "generate", question["messages"][0]["content"], "--model", WEIGHTS,
             "--max-tokens", "32", "--temperature", str(question["temperature"]), "--json", *seed],
            capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["text"] == text_of(number)


support.finish("same_text", openai.__version__)
