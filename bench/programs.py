"""What benchmarks written in Python share: where things are, what they say, how they run others."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.join(ROOT, "build/release/bin")
TROUPE = os.path.join(BIN, "troupe")
SHIPPED = os.path.join(ROOT, "weights/SmolLM2-135M-Instruct.Q4_1.gguf")
VOCABULARY = 40000  # ids below are ordinary tokens of the shipped model


def token_ids(dice, count):
    """Ordinary tokens of the shipped model."""
    return [dice.randrange(100, VOCABULARY) for _ in range(count)]


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(*command, environment=None):
    """The standard output of a command; where it fails, this program ends."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {' '.join(command)[:200]} failed:\n"
                 f"{done.stderr[-2000:]}{done.stdout[:400]}")
    return done.stdout
