"""The anthropic SDK, unmodified, against a running gateway.

usage: check_anthropic.py URL KEY MODEL
"""
import asyncio

import anthropic
import support

client, aclient = support.anthropic_clients(anthropic)
MODEL = support.MODEL
# This SDK has no argument for the temperature any more; the API still has the field.
FIXED = {"model": MODEL, "max_tokens": 24, "extra_body": {"temperature": 0},
         "system": "You are brief.",
         "messages": [{"role": "user", "content": "Name three rivers in France."}]}


def whole_input(usage):
    return (usage.input_tokens + (usage.cache_read_input_tokens or 0) +
            (usage.cache_creation_input_tokens or 0))


@support.check
def whole_and_streamed_say_the_same():
    whole = client.messages.create(**FIXED)
    assert whole.role == "assistant" and whole.content[0].type == "text"
    with client.messages.stream(**FIXED) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == whole.content[0].text == final.content[0].text
    assert final.stop_reason == whole.stop_reason
    assert final.usage.output_tokens == whole.usage.output_tokens
    assert whole_input(final.usage) == whole_input(whole.usage)


@support.check
def events_come_in_order():
    types = [event.type for event in client.messages.create(**FIXED, stream=True)]
    assert types[0] == "message_start" and types[-1] == "message_stop"
    assert types[-2] == "message_delta" and types[-3] == "content_block_stop"


@support.check
def count_tokens_is_the_input():
    counted = client.messages.count_tokens(model=MODEL, system=FIXED["system"],
                                           messages=FIXED["messages"])
    assert counted.input_tokens == whole_input(client.messages.create(**FIXED).usage)


@support.check
def async_streams_at_once():
    async def one():
        async with aclient.messages.stream(**FIXED) as stream:
            return await stream.get_final_text()

    async def run():
        got = await asyncio.gather(*(one() for _ in range(4)))
        assert len(set(got)) == 1
        await aclient.close()

    asyncio.run(run())


@support.check
def marks_and_blocks_read_the_cache_of_plain_strings():
    page = "The river flows from the mountains to the sea. " * 60
    plain = {**FIXED, "system": page}
    client.messages.create(**plain)
    marked = {**FIXED, "system": [{"type": "text", "text": page,
                                   "cache_control": {"type": "ephemeral"}}]}
    usage = client.messages.create(**marked).usage
    assert usage.cache_read_input_tokens > 500, usage
    assert whole_input(usage) == whole_input(client.messages.create(**plain).usage)


@support.check
def a_mark_creates_what_the_next_request_reads():
    page = "The harbour opens at dawn and closes after dark. " * 60
    marked = {**FIXED, "system": [{"type": "text", "text": page, "cache_control":
                                   {"type": "ephemeral", "ttl": "1h"}}]}
    first = client.messages.create(**marked).usage
    assert first.cache_creation_input_tokens > 500, first
    again = client.messages.create(**marked).usage
    assert again.cache_creation_input_tokens == 0, again
    assert again.cache_read_input_tokens >= first.cache_creation_input_tokens, again
    assert whole_input(first) == whole_input(again)
    extra = {**FIXED.get("extra_body", {}), "cache_control": {"type": "ephemeral"}}
    automatic = client.messages.create(
        **{**FIXED, "system": "A new one. " + page, "extra_body": extra}).usage
    assert automatic.cache_creation_input_tokens > 500, automatic
    try:
        client.messages.create(**{**FIXED, "system": marked["system"] * 5})
    except anthropic.BadRequestError as refused:
        assert "maximum of 4 blocks with cache_control" in str(refused), refused
    else:
        raise AssertionError("five marks were taken")


@support.check
def stop_sequences_are_named():
    text = client.messages.create(**FIXED).content[0].text
    stop = text[len(text) // 2:][:3]
    got = client.messages.create(**FIXED, stop_sequences=[stop])
    assert got.stop_reason == "stop_sequence" and got.stop_sequence == stop
    assert got.content[0].text == text[:text.index(stop)]


@support.check
def what_a_coding_agent_sends():
    tool = {"name": "read", "description": "Reads a file", "input_schema": {"type": "object"}}
    history = FIXED["messages"] + [
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1",
             "content": [{"type": "text", "text": "a file"}]}]}]
    got = client.beta.messages.create(
        model=MODEL, max_tokens=32000, stop_sequences=["."], messages=history, tools=[tool],
        thinking={"type": "adaptive"}, extra_body={"output_config": {"effort": "low"},
                                                   "context_management": {"edits": []}},
        betas=["a-2025-01-01", "b-2025-01-01"])
    assert got.stop_reason in ("end_turn", "stop_sequence", "max_tokens")


@support.check
def models_are_listed():
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).type == "model"


@support.check
def errors_are_the_exceptions_of_the_sdk():
    def wrong(**fields):
        return lambda: client.messages.create(**{**FIXED, **fields})

    for fields in ({"extra_body": {"temperature": -1}}, {"extra_body": {"top_p": -0.1}},
                   {"max_tokens": 0}, {"messages": []},
                   {"messages": [{"role": "wizard", "content": "x"}]},
                   {"tool_choice": {"type": "any"}}):
        support.raises(anthropic.BadRequestError, wrong(**fields))
    support.raises(anthropic.NotFoundError, wrong(model="none"))
    if support.KEY:
        bad = anthropic.Anthropic(base_url=support.URL, api_key="not-the-right-key-0000",
                                  max_retries=0)
        support.raises(anthropic.AuthenticationError, lambda: bad.models.list())


@support.check
def a_stream_that_is_closed_early_frees_its_worker():
    with client.messages.stream(**{**FIXED, "max_tokens": 2000}) as stream:
        next(iter(stream.text_stream))
    support.wait_until_nothing_runs()


support.finish("anthropic", anthropic.__version__)
