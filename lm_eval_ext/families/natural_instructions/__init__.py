"""Natural Instructions: which parts of an instruction does a model use (Mishra et al., ACL 2022)?"""
