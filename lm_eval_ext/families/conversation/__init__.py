"""Conversations with the model's own answers: does it keep its instructions, turn by turn?"""
