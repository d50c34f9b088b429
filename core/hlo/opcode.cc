// Names of opcodes.
