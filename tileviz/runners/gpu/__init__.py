"""Running a kernel on an NVIDIA GPU through PyCUDA, in one worker process that owns the context.

``driver`` alone imports PyCUDA, and only that worker imports ``driver``: a context poisoned by one
illegal address must never take the web server along.
"""
