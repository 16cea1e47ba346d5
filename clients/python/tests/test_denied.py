"""What a model reads about a denial says the same as in the TypeScript library, which runs here in Node."""

from __future__ import annotations

import json
import subprocess

from tollgate_client import ToolDenied
from tollgate_client._denied import _advice  # pyright: ignore[reportPrivateUsage]

from .programs import checkout

# Prints the text about a denial by each reason code.
texts = """
import { reasons } from '@tollgate/proto/contract';
import { denialText } from './sidecar/dist/engine/govern/verdict.js';

const denial = { allowed: false, tool: 'mail.send', reason: 'why', kind: 'terminal', retryAfterMs: null, remedies: [] };
const texts = Object.keys(reasons).map((code) => [code, denialText({ ...denial, code })]);
process.stdout.write(JSON.stringify(Object.fromEntries(texts)));
"""


def test_the_advice_by_code_is_that_of_the_typescript_library() -> None:
    program = ["node", "--input-type=module", "-e", texts]
    ended = subprocess.run(program, cwd=checkout, capture_output=True, text=True, timeout=60, check=True)
    theirs: dict[str, str] = json.loads(ended.stdout)
    # Others have the advice of their kind there.
    with_advice = {code: text for code, text in theirs.items() if " was not made: " in text}
    ours = {code: str(ToolDenied("mail.send", kind="terminal", code=code, reason="why")) for code in _advice}
    assert ours == with_advice
