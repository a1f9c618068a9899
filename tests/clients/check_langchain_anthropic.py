"""langchain-anthropic, unmodified, against a running gateway.

usage: check_langchain_anthropic.py URL KEY MODEL
"""
import asyncio
import importlib.metadata

import anthropic
import support
from langchain_anthropic import ChatAnthropic

OPTIONS = {"model": support.MODEL, "base_url": support.URL, "api_key": support.KEY or "none",
           "max_tokens": 24, "temperature": 0, "max_retries": 0, "timeout": 120}
chat = ChatAnthropic(**OPTIONS)
QUESTION = [("system", "You are brief."), ("user", "Name three rivers in France.")]


@support.check
def whole_and_streamed_say_the_same():
    whole = chat.invoke(QUESTION)
    streamed = None
    for chunk in chat.stream(QUESTION):
        streamed = chunk if streamed is None else streamed + chunk
    assert whole.content and streamed.text == whole.text
    assert streamed.usage_metadata["output_tokens"] == whole.usage_metadata["output_tokens"]
    assert streamed.usage_metadata["input_tokens"] == whole.usage_metadata["input_tokens"]


@support.check
def batches_and_async():
    got = chat.batch([QUESTION, "Say hello.", QUESTION])
    assert got[0].content == got[2].content
    assert asyncio.run(chat.ainvoke(QUESTION)).content == got[0].content


@support.check
def tools_are_offered_and_forced_calls_refused():
    tool = {"name": "weather", "description": "The weather of a city.",
            "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
    assert chat.bind_tools([tool]).invoke(QUESTION).content is not None
    forced = chat.bind_tools([tool], tool_choice="weather")
    support.raises(anthropic.BadRequestError, lambda: forced.invoke(QUESTION))


@support.check
def tokens_are_counted():
    counted = chat.get_num_tokens_from_messages(chat._convert_input(QUESTION).to_messages())
    assert counted == chat.invoke(QUESTION).usage_metadata["input_tokens"]


support.finish("langchain-anthropic", importlib.metadata.version("langchain-anthropic"))
