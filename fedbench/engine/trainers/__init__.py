"""Trainers turn jobs into work. All of them compute the same thing; they differ in speed and in the
models that they know."""
