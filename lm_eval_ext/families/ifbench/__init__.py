"""IFBench: verifiable instructions unlike those that models are trained on. And IFEval, which has those."""
