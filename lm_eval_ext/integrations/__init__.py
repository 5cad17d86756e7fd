"""The checkers where models are trained or evaluated: TRL, verl, OpenRLHF, open-instruct, NeMo Gym and others.

One module per library. It turns a row of that library into a call of ``verify`` and the verdict into what the library
expects, so every figure is that of ``verify``. Nothing here imports a library before its module is imported.
"""
