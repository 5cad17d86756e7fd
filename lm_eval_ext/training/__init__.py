"""Training, the same for every model that this package trains.

What differs is the trainee: its data, how they become batches, its loss, and what is saved. That is in three modules
``trainee``: of the classifier's encoder, of its causal reader, and of the models fine-tuned on natural_instructions.
"""
