"""One guarded reader per format. Every file and text from outside comes through here, hostile until checked.

| format | reader | what it bounds |
|---|---|---|
| any file | `plain.file_bytes`, `plain.file_text` | bytes read, also from a device that never ends |
| gzip | `plain.gunzipped` | bytes that come out |
| JSON, JSON lines | `plain.json_value` | depth, digits of a number, NUL and lone surrogates in texts, NaN |
| YAML | `yaml_values.yaml_value` | the same, and what aliases and merges expand to |
| npz, npy | `arrays.open_archive`, `arrays.npy_array` | shared bytes, headers that promise more than follows, pickle |
| ONNX | `models.checked_model` | the size of everything the model computes, files and programs it would reach for |
| .pt | `tensors.read_tensors` | the archive as above; tensors only, as large as the file |
| pickle | `pickles.pickled_values` | read as a list of instructions: plain values, nothing is looked up or called |

A reader raises `UnreadableError` with a reason and nothing else, whatever the file; the caller adds which file it was
and what to do. `tests/reading` holds them to it with thousands of broken files.
"""
