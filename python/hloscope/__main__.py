"""`python -m hloscope ARGUMENTS`: the program itself in the place of this process."""

import os
import sys

from hloscope import program

os.execv(program(), ["hloscope", *sys.argv[1:]])
