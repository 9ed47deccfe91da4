"""gate: decides whether a release may go out, from fresh, owned, parsed evidence only.

Imported by bootstrap inside images nobody prepared: standard library only, Python 3.10 or newer.
"""

__version__ = "0.1.0"
