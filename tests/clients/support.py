"""What checks of real clients share. A check is a function with @check; finish() runs them all."""
import json
import sys
import time
import traceback
import urllib.request

URL, KEY, MODEL = sys.argv[1:4]
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def openai_clients(openai):
    options = {"base_url": URL + "/v1", "api_key": KEY or "none", "max_retries": 0, "timeout": 120}
    return openai.OpenAI(**options), openai.AsyncOpenAI(**options)


def anthropic_clients(anthropic):
    options = {"base_url": URL, "api_key": KEY or "none", "max_retries": 0, "timeout": 120}
    return anthropic.Anthropic(**options), anthropic.AsyncAnthropic(**options)


def raises(kind, run):
    try:
        run()
    except kind as failure:
        return failure
    raise AssertionError(f"no {kind.__name__} was raised")


def get(path):
    request = urllib.request.Request(URL + path, headers={"Authorization": "Bearer " + KEY})
    with urllib.request.urlopen(request, timeout=10) as reply:
        return reply.read().decode()


def wait_until_nothing_runs(seconds=5):
    until = time.monotonic() + seconds
    while "troupe_gateway_running_requests 0\n" not in get("/metrics"):
        assert time.monotonic() < until, "a request still runs"
        time.sleep(0.05)


def finish(name, version):
    failed = 0
    for function in CHECKS:
        try:
            function()
        except Exception:  # noqa: BLE001 - whatever it is, it is told
            failed += 1
            print(f"FAILED {name}: {function.__name__}\n{traceback.format_exc()}", file=sys.stderr)
    print(json.dumps({"client": name, "version": version, "checks": len(CHECKS),
                      "failed": failed}))
    sys.exit(1 if failed else 0)
