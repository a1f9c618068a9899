"""What a hand-over costs the request itself, and the streams of the worker that reads."""
import os
import random
import threading
import time

from cluster import Cluster
from programs import say, token_ids

HANDOVER_PROMPTS = (1024, 2048, 4096, 8128)  # the last is what the context holds
HEAD = "{name: head, run: [directory, router, front]}"
MOVED_PROMPT, NUM_MOVED, MOVES_PER_S, STREAM_TOKENS = 4096, 6, 2, 500


def time_handover(folder, model, rounds):
    """Ratios of times to the first token: two workers against one, by length of the prompt."""
    memory = f"kv_memory: 1GiB, threads: {os.cpu_count()}"
    one = Cluster("one", folder, model,
                  [HEAD, f"{{name: worker, run: [prefill, decode], {memory}}}"])
    two = Cluster("two", folder, model, [HEAD, f"{{name: pre, run: [prefill], {memory}}}",
                                         f"{{name: dec, run: [decode], {memory}}}"])
    dice = random.Random(os.getpid() + 2)
    ratios = {tokens: [] for tokens in HANDOVER_PROMPTS}
    try:
        for cluster in (one, two):
            cluster.up()
        for i in range(rounds + 1):
            for tokens, seen in ratios.items():
                took = {}
                for cluster in (one, two) if i % 2 else (two, one):
                    prompt = token_ids(dice, tokens)
                    took[cluster] = cluster.ask(prompt)["ttft_ms"]
                if i > 0:  # the first round warms up
                    seen.append(took[two] / took[one])
                else:
                    break
            say(f"handover {i} of {rounds}: " +
                ", ".join(f"{tokens}: {seen[-1]:.3f}" for tokens, seen in ratios.items() if seen))
    finally:
        one.down()
        two.down()
    return ratios


def stream_while(cluster, dice, prompts):
    """Milliseconds a token of a stream while somebody asks with these prompts in turn."""
    is_over = threading.Event()
    moved = []

    def ask():
        turn = time.monotonic()
        while not is_over.is_set():
            answer = cluster.ask(prompts[len(moved) % len(prompts)])
            moved.append(answer["blocks_moved"])
            turn += 1 / MOVES_PER_S
            is_over.wait(max(0, turn - time.monotonic()))
    asking = threading.Thread(target=ask)
    asking.start()
    per_s = cluster.ask(token_ids(dice, 100), STREAM_TOKENS)["tokens_per_s"]
    is_over.set()
    asking.join()
    return 1e3 / per_s, sum(moved) / len(moved)


def time_itl(folder, model, pairs):
    """Ratios of times per token: while blocks come in, against the same requests without."""
    cluster = Cluster("moves", folder, model,
                      [HEAD, "{name: pre, run: [prefill], kv_memory: 1GiB, threads: 1}",
                       "{name: dec, run: [decode], kv_memory: 320MiB, threads: 1}"])
    dice = random.Random(os.getpid() + 3)
    ratios = []
    # More than the worker that reads can keep: each time all blocks have to come again.
    long = [token_ids(dice, MOVED_PROMPT + 1) for _ in range(NUM_MOVED)]
    kept = long[:1]
    try:
        cluster.up()
        for prompt in long:
            cluster.ask(prompt)
        for i in range(pairs):
            took = {}
            for prompts in (long, kept) if i % 2 else (kept, long):
                cluster.ask(kept[0])
                is_moving = prompts is long
                took[is_moving], moved = stream_while(cluster, dice, prompts)
                if (moved > 0.9 * MOVED_PROMPT / 64) != is_moving:
                    say(f"  {moved:.0f} blocks moved a request; not counted")
                    took.clear()
            if len(took) < 2:
                continue
            ratios.append(took[True] / took[False])
            say(f"stream {i + 1} of {pairs}: {took[False]:.2f} ms a token, "
                f"{took[True]:.2f} ms while blocks come in")
    finally:
        cluster.down()
    return ratios
