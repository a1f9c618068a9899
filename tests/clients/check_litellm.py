"""litellm, unmodified, against a running gateway: through its OpenAI and its Anthropic side.

usage: check_litellm.py URL KEY MODEL
"""
import asyncio
import importlib.metadata
import os

import support

# What models cost is asked of a host on the internet otherwise.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm  # noqa: E402

litellm.suppress_debug_info = True
CHAT = [{"role": "user", "content": "Name three rivers in France."}]
OPENAI = {"model": "openai/" + support.MODEL, "api_base": support.URL + "/v1",
          "api_key": support.KEY or "none", "messages": CHAT, "max_tokens": 24, "temperature": 0.7,
          "num_retries": 0, "timeout": 120}
ANTHROPIC = {**OPENAI, "model": "anthropic/" + support.MODEL, "api_base": support.URL}


def text_of(reply):
    return reply.choices[0].message.content


@support.check
def whole_and_streamed_say_the_same():
    whole = litellm.completion(**OPENAI, seed=5)
    chunks = list(litellm.completion(**OPENAI, seed=5, stream=True,
                                     stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == text_of(whole)
    assert whole.usage.completion_tokens <= 24 and whole.usage.prompt_tokens > 0
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens


@support.check
def async_calls_at_once():
    async def run():
        got = await asyncio.gather(*(litellm.acompletion(**OPENAI, seed=s) for s in (1, 2, 1, 2)))
        texts = [text_of(reply) for reply in got]
        assert texts[:2] == texts[2:]

    asyncio.run(run())


@support.check
def the_anthropic_side():
    whole = litellm.completion(**{**ANTHROPIC, "temperature": 0})
    chunks = list(litellm.completion(**{**ANTHROPIC, "temperature": 0}, stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == text_of(whole)


@support.check
def text_completions():
    options = {name: value for name, value in OPENAI.items() if name != "messages"}
    got = litellm.text_completion(**{**options, "model": "text-completion-openai/" + support.MODEL,
                                     "prompt": "One, two,", "temperature": 0})
    assert got.choices[0].text


@support.check
def errors_are_mapped():
    def wrong(**fields):
        return lambda: litellm.completion(**{**OPENAI, **fields})

    support.raises(litellm.BadRequestError, wrong(temperature=-1))
    support.raises(litellm.BadRequestError, wrong(response_format={"type": "json_object"}))
    support.raises(litellm.NotFoundError, wrong(model="openai/none"))
    support.raises(litellm.ContextWindowExceededError, wrong(
        messages=[{"role": "user", "content": "word " * 30000}]))
    if support.KEY:
        support.raises(litellm.AuthenticationError, wrong(api_key="not-the-right-key-0000"))


support.finish("litellm", importlib.metadata.version("litellm"))
