"""Task files that no test changes, parsed once per process: a thousand of them for every index of the harness."""

from __future__ import annotations


def parse_task_files_once() -> None:
    """Have the harness's index keep what it read in its own folder and in ours.

    Its walk through the folders, what it makes of each file, and files in any other folder stay as they are. The
    warm harness runs this function's source, so it uses nothing outside itself.
    """
    import pickle  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    import lm_eval.tasks._index as index  # noqa: PLC0415

    from lm_eval_ext import tasks_dir  # noqa: PLC0415

    if hasattr(index, "load_yaml_anew"):
        return
    load, parsed = index.load_yaml, {}
    unchanging = tuple(f"{folder}/" for folder in (tasks_dir(), Path(index.__file__).parent))

    def load_yaml(path: object, **options: object) -> object:
        if not str(path).startswith(unchanging):
            return load(path, **options)
        key = (str(path), *sorted(options.items()))
        if key not in parsed:
            parsed[key] = pickle.dumps(load(path, **options))
        return pickle.loads(parsed[key])  # noqa: S301 # a copy for each index, which changes it

    index.load_yaml_anew, index.load_yaml = load, load_yaml
