"""ManyIFEval: can a model follow one to ten instructions at once (Curse of Instructions, 2024)?"""
