// Findings of one cause as one: a barrier that is missing races every access before it with every
// one behind it, and an update that is not atomic has a load and a store.
#pragma once

#include <vector>

#include "core/ptx/checks/findings.h"
#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// The first finding of each cause, in order, with the counts of all; its text says how many pairs
// of instructions it stands for, and, of a missing barrier, between which lines one orders them
// all. Of more than ten causes the tenth says how many follow.
std::vector<Finding> GroupedByCause(std::vector<Finding> findings, const Kernel& kernel);

}  // namespace hloscope::ptx
