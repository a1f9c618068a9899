"""langchain-openai, unmodified, against a running gateway.

usage: check_langchain_openai.py URL KEY MODEL
"""
import asyncio
import importlib.metadata

import openai
import pydantic
import support
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI

OPTIONS = {"model": support.MODEL, "base_url": support.URL + "/v1",
           "api_key": support.KEY or "none", "max_tokens": 24, "temperature": 0.7, "seed": 3,
           "max_retries": 0, "timeout": 120}
chat = ChatOpenAI(**OPTIONS)
QUESTION = [("system", "You are brief."), ("user", "Name three rivers in France.")]


class City(pydantic.BaseModel):
    """A city."""
    name: str


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return "rain in " + city


@support.check
def whole_and_streamed_say_the_same():
    whole = chat.invoke(QUESTION)
    streamed = None
    for chunk in ChatOpenAI(**OPTIONS, stream_usage=True).stream(QUESTION):
        streamed = chunk if streamed is None else streamed + chunk
    assert whole.content and streamed.content == whole.content
    assert streamed.usage_metadata["total_tokens"] == whole.usage_metadata["total_tokens"]
    assert whole.response_metadata["finish_reason"] in ("stop", "length")


@support.check
def batches_and_async():
    got = chat.batch([QUESTION, "Say hello.", QUESTION])
    assert got[0].content == got[2].content

    async def run():
        text = ""
        async for chunk in chat.astream(QUESTION):
            text += chunk.content
        assert text == got[0].content == (await chat.ainvoke(QUESTION)).content

    asyncio.run(run())


@support.check
def logprobs_and_plain_completions():
    told = chat.bind(logprobs=True, top_logprobs=2).invoke(QUESTION)
    assert len(told.response_metadata["logprobs"]["content"][0]["top_logprobs"]) == 2
    assert OPTIONS["max_tokens"] and OpenAI(**OPTIONS).invoke("One, two,")


@support.check
def tools_are_offered_and_their_results_taken():
    asked = chat.bind_tools([weather]).invoke(QUESTION)
    assert isinstance(asked.content, str)
    history = QUESTION + [
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "call_1", "type": "function",
             "function": {"name": "weather", "arguments": "{\"city\": \"Lyon\"}"}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "rain in Lyon"}]
    assert isinstance(chat.invoke(history).content, str)


@support.check
def what_is_not_enforced_yet_is_refused():
    for method in ("json_schema", "json_mode", "function_calling"):
        structured = chat.with_structured_output(City, method=method)
        failure = support.raises(openai.BadRequestError, lambda: structured.invoke(QUESTION))
        assert failure.param, method


support.finish("langchain-openai", importlib.metadata.version("langchain-openai"))
