"""The only reader of what ``lm_eval`` wrote: files, runs, samples, which model, in which setting."""
