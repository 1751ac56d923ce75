#!/usr/bin/env python3
"""The JSON Schema of `dtrain schema` agrees with `dtrain validate` about every file of tests/specs.

    schema_test.py DTRAIN
"""
import json
import pathlib
import re
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-jsonschema, python3-yaml)")
    sys.exit(77)

SPECS = pathlib.Path(__file__).parent.parent / "specs"

# Cases that dtrain refuses and the schema does not: what a schema, which sees values and no text, cannot say.
BEYOND_THE_SCHEMA = {
    "address_dataset", "address_fallback", "address_file", "address_secret", "address_signature",  # what an address is
    # YAML that dtrain does not take, and what a reader of YAML makes the same value of
    "alias", "anchor", "duplicate_field", "duplicate_layer_field", "duplicate_section", "merge_key", "tag_integer",
    "type_integer_decimal", "type_integer_exponent", "type_integer_huge",
    # the environment and the file system
    "environment_no_number", "environment_not_rescanned", "environment_unset", "path_home", "path_newline",
    # arithmetic and lists that must agree
    "batch_auto", "batch_auto_hosts", "batch_indivisible", "batch_indivisible_devices", "batch_passes",
    "bounds_global_product", "bounds_shape_product", "devices_count",
    "hosts_of_servers", "hosts_twice", "one_device_list", "one_device_replicas", "optimizer_lamb_servers", "optimizer_lars_rate",
    "optimizer_muon_rules", "optimizer_muon_servers", "optimizer_muon_values",
    "optimizer_nesterov",
    "parameter_server_batch", "parameter_server_devices", "parameter_server_staleness", "schedule_piecewise_lengths",
    # features that exclude each other, which are neither "only when" nor "required when" (lib/spec/job_file/rules.cpp)
    "central_storage_gloo", "checkpoint_both", "compress_shared_memory", "virtual_replicas", "virtual_replicas_on_gpus",
    "data_augment_resident", "data_augment_rules", "data_columns_rules",
    "data_fallback_same", "data_id", "data_id_of_predictions", "data_stream_here", "data_stream_rules",
    "data_fallback_synthetic", "data_split_fold_alone", "data_split_folds", "data_split_rules", "data_split_seed_only", "data_tables_fallback",
    "devices_central_storage", "devices_mixed", "model_depth", "model_head", "model_wide_depth", "model_wide_stem", "model_widen_factor",
    "devices_shared_memory", "layer_decay_program", "layer_decay_servers", "layer_decay_tpu", "local_steps_missing", "local_steps_rules", "shard_optimizer_rules",
    "noise_scale_fp16", "noise_scale_servers",
    "one_device_baseline", "parameter_server_histograms", "parameter_server_inspect", "parameter_server_phase",
    "parameter_server_step_options", "parameter_server_together", "precision", "precision_fp16", "sampling_in_order", "xla_options", "xla_strategy",
}


class Loader(yaml.SafeLoader):
    """YAML 1.2 takes 1e-2 for a number, PyYAML does not."""


Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9][0-9_]*([.][0-9_]*)?[eE][-+]?[0-9]+$"), list("-+0123456789"))


def document_of(path):
    """The file as YAML, or None if it is not YAML that a schema is about."""
    try:
        document = yaml.load(path.read_text(), Loader=Loader)
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
