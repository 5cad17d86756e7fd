"""Natural Instructions: which part of an instruction does a model use? (Mishra et al., ACL 2022)."""
