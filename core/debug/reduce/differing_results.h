// The results of a module that a run found different, alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/debug/reduce/candidate.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// Operands of the entry's root tuple, by number, each once; none where the root is one value.
std::vector<int64_t> DifferingResults(const RunReport& report);

// True if results differ, and none of them from the reference: only from expected or recorded ones.
bool DiffersFromExpectedAlone(const RunReport& report);

// The entry with these of its results alone, and what they need; nullopt where its root is no
// tuple, or has no such operand.
std::optional<Candidate> WithResults(const Candidate& whole, std::span<const int64_t> results);

}  // namespace hloscope::debug
