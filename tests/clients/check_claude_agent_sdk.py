"""The agent's command line of claude-agent-sdk, unmodified, against a running gateway.

usage: check_claude_agent_sdk.py URL KEY MODEL
"""
import asyncio
import importlib.metadata
import os
import tempfile

import support
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

PREFIX = "ANTHROPIC_", "CLAUDE_"


def session(folder, **more):
    environment = {
        "ANTHROPIC_BASE_URL": support.URL, "ANTHROPIC_API_KEY": support.KEY or "none",
        "ANTHROPIC_SMALL_FAST_MODEL": support.MODEL, "CLAUDE_CONFIG_DIR": folder,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "64",
        "DISABLE_AUTOUPDATER": "1"}
    return ClaudeAgentOptions(model=support.MODEL, cwd=folder, env=environment, max_turns=1,
                              setting_sources=[], system_prompt="You are brief.", tools=[], **more)


async def ask(prompt):
    with tempfile.TemporaryDirectory() as folder:
        async for message in query(prompt=prompt, options=session(folder)):
            if isinstance(message, ResultMessage):
                return message
    raise AssertionError("the session has no result")


@support.check
def a_session_answers():
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]
    result = asyncio.run(asyncio.wait_for(ask("Name three rivers in France."), 180))
    assert result.usage["output_tokens"] > 0, result
    assert result.result or result.stop_reason == "max_tokens", result


support.finish("claude-agent-sdk", importlib.metadata.version("claude-agent-sdk"))
