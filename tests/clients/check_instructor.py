"""instructor, unmodified, against a running gateway: plain calls pass; what it would have enforced
is refused with the server's own words.

usage: check_instructor.py URL KEY MODEL
"""
import importlib.metadata

import instructor
import openai
import pydantic
import support

client, _ = support.openai_clients(openai)
ASKED = {"model": support.MODEL, "max_tokens": 24, "temperature": 0,
         "messages": [{"role": "user", "content": "Name three rivers in France."}]}


class River(pydantic.BaseModel):
    name: str


@support.check
def plain_calls_pass_through():
    patched = instructor.from_openai(client)
    got = patched.chat.completions.create(**ASKED, response_model=None)
    assert got.choices[0].message.content == (
        client.chat.completions.create(**ASKED).choices[0].message.content)


@support.check
def what_is_not_enforced_yet_is_refused():
    for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON, instructor.Mode.JSON_SCHEMA):
        patched = instructor.from_openai(client, mode=mode)
        failure = support.raises(Exception, lambda: patched.chat.completions.create(
            **ASKED, response_model=River, max_retries=0))
        assert "400" in str(failure) and "yet" in str(failure), (mode, failure)


support.finish("instructor", importlib.metadata.version("instructor"))
