"""The report's section on ManyIFEval and self-refinement."""
