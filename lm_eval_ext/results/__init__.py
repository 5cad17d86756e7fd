"""The only reader of what ``lm_eval`` wrote: files, runs, samples, which model, in which setting.

Which of several runs of a task counts: ``load`` decides it, and ``runs.Role`` lists the outcomes.
"""

PLACES = "a folder, a results_*.json file, an archive (.zip, .tar.gz), or hf://datasets/OWNER/NAME[@REVISION][/PATH]"
"""Where results can be, for the help of commands."""
