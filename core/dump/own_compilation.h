// What a dump of our own compiler has beyond the files of XLA.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/dump/dump_model.h"
#include "core/dump/readers/fusion_decisions.h"
#include "core/dump/readers/provenance.h"

namespace hloscope::dump {

// True for a module that our own compiler compiled: flags of XLA have no part in it.
bool IsOwnCompilation(const DumpModel& model, int32_t module);

// Why the dump of such a module has no code.
inline constexpr const char* kNoOwnCode =
    "no code in this dump: nothing of the module is a kernel, the evaluator and libraries run it";

// The decisions of fusion of a module; empty, with file -1, where XLA compiled it. Read anew with
// each call. Errors: the file cannot be read.
Result<FusionDecisions> FusionDecisionsOf(const DumpModel& model, int32_t module);

// Where the instructions of its stages come from, as the passes noted it; empty where XLA compiled
// it. Read anew with each call. Errors: the file cannot be read.
Result<std::vector<StageProvenance>> ProvenanceOf(const DumpModel& model, int32_t module);

}  // namespace hloscope::dump
