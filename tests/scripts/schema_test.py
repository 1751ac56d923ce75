#!/usr/bin/env python3
"""The JSON Schema of `dtrain schema` agrees with `dtrain validate` about every file of tests/specs.

    schema_test.py DTRAIN
"""
import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-jsonschema, python3-yaml)")
    sys.exit(77)

SPECS = pathlib.Path(__file__).parent.parent / "specs"

# Refused by dtrain for what a schema of one document cannot say.
BEYOND_THE_SCHEMA = {}


def document_of(path):
    """The file as YAML, or None if it is not YAML that a schema is about."""
    try:
        document = yaml.safe_load(path.read_text())
        return json.loads(json.dumps(document))
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, ValueError):
        return None


def main():
    program = sys.argv[1]
    schema = json.loads(subprocess.run([program, "schema"], check=True, capture_output=True).stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    wrong, compared = [], 0
    for path in sorted(SPECS.glob("*/*.yaml")):
        text = path.read_text()
        if "\n# set:" in "\n" + text or "\n# unset:" in "\n" + text:
            continue  # about the command line
        document = document_of(path)
        if document is None:
            continue
        compared += 1
        accepted = validator.is_valid(document)
        name = f"{path.parent.name}/{path.name}"
        expected = path.parent.name == "good" or path.stem in BEYOND_THE_SCHEMA
        if accepted != expected:
            wrong.append(name)
            why = next((error.message[:200] for error in validator.iter_errors(document)), "")
            print(f"{name}: the schema {'accepts' if accepted else 'refuses'} it, dtrain does not agree {why}")
    assert compared > 120, compared
    for stem in BEYOND_THE_SCHEMA:
        assert (SPECS / "bad" / f"{stem}.yaml").exists(), f"there is no case {stem} any more"
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
