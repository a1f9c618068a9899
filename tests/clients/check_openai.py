"""The openai SDK, unmodified, against a running gateway.

usage: check_openai.py URL KEY MODEL
"""
import asyncio
import math

import openai
import support

client, aclient = support.openai_clients(openai)
MODEL = support.MODEL
CHAT = [{"role": "user", "content": "Name three rivers in France."}]
FIXED = {"model": MODEL, "messages": CHAT, "temperature": 0.7, "seed": 11, "max_tokens": 24}


@support.check
def models_are_listed_and_retrieved():
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).owned_by == "troupe"


@support.check
def chat_whole_and_streamed_say_the_same():
    whole = client.chat.completions.create(**FIXED)
    again = client.chat.completions.create(**FIXED)
    text = whole.choices[0].message.content
    assert text and text == again.choices[0].message.content
    chunks = list(client.chat.completions.create(**FIXED, stream=True,
                                                 stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert len({chunk.id for chunk in chunks}) == 1
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert streamed == text
    reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    assert [reason for reason in reasons if reason] == [whole.choices[0].finish_reason]
    usage = chunks[-1].usage
    assert usage.completion_tokens == whole.usage.completion_tokens <= 24
    assert usage.prompt_tokens == whole.usage.prompt_tokens
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


@support.check
def the_stream_helper_accumulates():
    with client.chat.completions.stream(**FIXED) as stream:
        stream.until_done()
        # This helper raises where the length ended the answer, and hands it over with that.
        try:
            final = stream.get_final_completion()
        except openai.LengthFinishReasonError as ended:
            final = ended.completion
    assert final.choices[0].message.content


@support.check
def async_streams_at_once():
    async def one(seed):
        text = ""
        stream = await aclient.chat.completions.create(**{**FIXED, "seed": seed}, stream=True)
        async for chunk in stream:
            text += chunk.choices[0].delta.content or ""
        return text

    async def run():
        seeds = [1, 2, 3, 1, 2, 3]
        got = await asyncio.gather(*(one(seed) for seed in seeds))
        assert got[:3] == got[3:]
        await aclient.close()

    asyncio.run(run())


@support.check
def several_choices():
    got = client.chat.completions.create(**{**FIXED, "n": 3})
    assert [choice.index for choice in got.choices] == [0, 1, 2]
    one = client.chat.completions.create(**FIXED)
    assert got.choices[0].message.content == one.choices[0].message.content
    assert got.usage.prompt_tokens == one.usage.prompt_tokens


@support.check
def logprobs_have_bytes_that_make_the_text():
    got = client.chat.completions.create(**FIXED, logprobs=True, top_logprobs=3)
    content = got.choices[0].logprobs.content
    joined = b"".join(bytes(token.bytes) for token in content).decode(errors="replace")
    assert joined.startswith(got.choices[0].message.content)
    for token in content:
        assert len(token.top_logprobs) == 3 and token.logprob <= 0
        assert math.isfinite(token.logprob)


@support.check
def completions_and_echo():
    got = client.completions.create(model=MODEL, prompt=["One, two,", "Red, green,"], max_tokens=5,
                                    temperature=0, echo=True, logprobs=None)
    assert len(got.choices) == 2
    assert got.choices[0].text.startswith("One, two,")
    text = "".join(chunk.choices[0].text for chunk in client.completions.create(
        model=MODEL, prompt="One, two,", max_tokens=5, temperature=0, stream=True))
    assert got.choices[0].text == "One, two," + text


@support.check
def stop_strings_end_the_text():
    whole = client.chat.completions.create(**{**FIXED, "max_tokens": 60}).choices[0].message.content
    stop = whole[len(whole) // 2:][:3]
    got = client.chat.completions.create(**{**FIXED, "max_tokens": 60}, stop=[stop])
    assert got.choices[0].message.content == whole[:whole.index(stop)]
    assert got.choices[0].finish_reason == "stop"


@support.check
def responses_whole_and_streamed():
    got = client.responses.create(model=MODEL, input="Say hello.", max_output_tokens=8,
                                  temperature=0)
    assert got.status in ("completed", "incomplete") and got.output_text
    events = list(client.responses.create(model=MODEL, input="Say hello.", max_output_tokens=8,
                                          temperature=0, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].response.output_text == got.output_text
    # An answer that the model ends: this helper wants response.completed.
    with client.responses.stream(model=MODEL, input="Say hello.", max_output_tokens=500,
                                 temperature=0) as stream:
        assert stream.get_final_response().output_text


@support.check
def tools_are_rendered_and_forced_calls_refused():
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    assert client.chat.completions.create(**FIXED, tools=[tool]).choices[0].message.content
    support.raises(openai.BadRequestError, lambda: client.chat.completions.create(
        **FIXED, tools=[tool], tool_choice="required"))
    support.raises(openai.BadRequestError, lambda: client.chat.completions.create(
        **FIXED, response_format={"type": "json_object"}))


@support.check
def errors_are_the_exceptions_of_the_sdk():
    def wrong(**fields):
        return lambda: client.chat.completions.create(**{**FIXED, **fields})

    for fields in ({"temperature": -1}, {"top_p": -0.1}, {"max_tokens": 0}, {"n": 1.5}, {"stop": 5},
                   {"logprobs": True, "top_logprobs": 21}, {"messages": []},
                   {"messages": [{"role": "wizard", "content": "x"}]},
                   {"logit_bias": {"99999999": 1}}):
        failure = support.raises(openai.BadRequestError, wrong(**fields))
        assert failure.param, fields
    assert support.raises(openai.NotFoundError, wrong(model="none")).code == "model_not_found"
    long = [{"role": "user", "content": "word " * 30000}]
    failure = support.raises(openai.BadRequestError, wrong(messages=long))
    assert failure.code == "context_length_exceeded"
    if support.KEY:
        bad = openai.OpenAI(base_url=support.URL + "/v1", api_key="not-the-right-key-0000",
                            max_retries=0)
        support.raises(openai.AuthenticationError, lambda: bad.models.list())


@support.check
def a_stream_that_is_closed_early_frees_its_worker():
    stream = client.chat.completions.create(**{**FIXED, "max_tokens": 2000}, stream=True)
    next(iter(stream))
    stream.close()
    support.wait_until_nothing_runs()


support.finish("openai", openai.__version__)
