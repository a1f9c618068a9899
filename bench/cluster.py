"""A cluster of real processes on this machine, for benchmarks that start, ask and kill one."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from programs import TROUPE, run


class Cluster:
    """`roles` are lines of a manifest; everything lies in `folder`."""

    def __init__(self, name, folder, model, roles):
        self.name = name
        self.environment = dict(os.environ, TROUPE_RUN_DIR=os.path.join(folder, "run"))
        self.manifest = os.path.join(folder, name + ".yaml")
        with open(self.manifest, "w", encoding="utf-8") as out:
            out.write(f"version: 1\nname: {name}\nmodels: [{{name: m, path: {model}}}]\nroles:\n")
            out.writelines(f"  - {role}\n" for role in roles)

    def troupe(self, *arguments):
        return run(TROUPE, *arguments, environment=self.environment)

    def up(self):
        self.troupe("up", self.manifest)

    def down(self):
        subprocess.run([TROUPE, "down", self.name], env=self.environment, capture_output=True)

    def status(self):
        done = subprocess.run([TROUPE, "status", self.name, "--json"], env=self.environment,
                              capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def wait(self, what, is_so, seconds=60):
        for _ in range(10 * seconds):
            status = self.status()
            if status and is_so(status):
                return status
            time.sleep(0.1)
        sys.exit(f"{what} took longer than {seconds} s: {self.status()}")

    def pids(self):
        return {p["name"]: p["pid"] for p in self.status()["processes"]}

    def kill(self, *names):
        before = self.pids()
        for name in names:
            os.kill(before[name], signal.SIGKILL)
        self.wait_back(before, *names)

    @contextlib.contextmanager
    def stopped(self, name):
        """Stands still (SIGSTOP) and is not asked any more; for less than its lease of 5 s."""
        pid = self.pids()[name]
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(2)
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def wait_back(self, before, *names):
        """Until others than the processes of `before` are ready under these names."""
        def is_back(status):
            now = {p["name"]: p["pid"] for p in status["processes"]}
            ready = {p["name"] for p in status["processes"] if p["health"] == "ready"}
            return all(now.get(n, before[n]) != before[n] and n in ready for n in names)
        self.wait("a restart", is_back)

    def wait_known(self, blocks):
        """The router knows where the blocks are, and who could read them."""
        self.wait("the router", lambda s: s.get("workers") and s.get("stores") and
                  s["stores"][0]["blocks_known"] >= blocks)
        time.sleep(1)

    def wait_written(self, blocks):
        self.wait("writing", lambda s: s.get("stores") and
                  s["stores"][0]["disk_blocks"] >= blocks and s["stores"][0]["disk_waiting"] == 0)

    def ask(self, prompt, output=1):
        return ask_ids(self.environment, self.name, prompt, output)


def ask_ids(environment, cluster, prompt, output):
    """The answer to a prompt of token ids, without drafts, as long as was asked for."""
    return json.loads(run(
        TROUPE, "generate", "--json", "--cluster", cluster, "--ignore-eos", "--no-drafts",
        "--max-tokens", str(output), "--token-ids", ",".join(map(str, prompt)),
        environment=environment))
