"""`python -m hloscope ARGUMENTS`: the program itself in the place of this process; `mcp` and `skill` are written in Python."""

import os
import sys

if not __package__:
    # Run as a file by the program, isolated from the environment and the working folder.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from hloscope._program import program

if sys.argv[1:2] == ["mcp"] and "HLOSCOPE_PROGRAM" in os.environ:
    from hloscope import mcp

    sys.exit(mcp.main(sys.argv[2:]))
if sys.argv[1:2] == ["skill"] and "HLOSCOPE_PROGRAM" in os.environ:
    from hloscope import skill

    sys.exit(skill.main(sys.argv[2:]))
path = str(program())
os.execv(path, ["hloscope", *sys.argv[1:]])
