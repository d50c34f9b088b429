// What each opcode asks of its operands so that its result means something.
#pragma once

#include "core/replay/inputs/constraint_flow.h"

namespace hloscope::replay {

// Asks of the operands of every instruction what its opcode needs: indices in range, neutral
// initial values, arguments inside the domain of functions, distinct sort keys …
void AskForSoundOperands(ConstraintFlow& flow);

// Asks of the initial values of loops that they end after a few iterations, where they count
// towards a bound and inputs decide where they begin or end.
void AskForShortLoops(ConstraintFlow& flow);

}  // namespace hloscope::replay
