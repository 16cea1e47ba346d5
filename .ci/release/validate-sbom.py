"""validate-sbom.py <file>…: ends with 1 where a file does not conform to the schema of its version of CycloneDX."""

import json
import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

failed = False
for name in sys.argv[1:]:
    text = Path(name).read_text()
    version = SchemaVersion.from_version(json.loads(text)["specVersion"])
    problem = JsonStrictValidator(version).validate_str(text)
    if problem is not None:
        failed = True
        print(f"{name} does not conform to CycloneDX: {str(problem)[:2000]}")
sys.exit(1 if failed else 0)
