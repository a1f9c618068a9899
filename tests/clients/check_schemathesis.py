"""schemathesis, unmodified, against a running gateway and its /openapi.json: no server error, no
answer that the description does not allow.

usage: check_schemathesis.py URL KEY MODEL
"""
import importlib.metadata
import os
import subprocess
import sys
import tempfile

import support


@support.check
def nothing_breaks_the_description():
    program = os.path.abspath(
        os.path.join(os.path.dirname(sys.executable), "schemathesis"))
    checks = ("not_a_server_error,status_code_conformance,content_type_conformance,"
              "response_schema_conformance")
    # It keeps what it found in the folder that it runs in.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [program, "run", support.URL + "/openapi.json", "--checks", checks,
             "--max-examples", "40", "--seed", "1", "--phases", "examples,coverage,fuzzing",
             # It may ask for 120 choices of some hundred tokens: minutes on a busy machine.
             "--request-timeout", "600",
             "--header", "Authorization: Bearer " + support.KEY],
            capture_output=True, text=True, check=False, timeout=2400, cwd=folder)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


support.finish("schemathesis", importlib.metadata.version("schemathesis"))
