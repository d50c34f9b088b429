// The instruction at which two modules begin to differ that should mean the same.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>

#include "core/analysis/align/alignment.h"
#include "core/base/result.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/stage_values.h"

namespace hloscope::debug {

struct FoundEdit {
  DivergePlace place;
  InstructionEdit edit;
  InstructionEdit backwards;  // the same from `after` to `before`
  LeafComparison worst;       // of the first value that differs, after against before
};

// Evaluates both on the inputs of `values` and pairs their instructions by their alignment: the one
// given, or where calls share computations, one of the two with these separated. The
// first instruction of `after`, in the order in which they run, whose value differs from its
// partner's is what was changed, or what it takes was: then that is named, as in `before` where it
// is gone. Looks into fusions and called computations, each call by itself, in double precision
// first, where rounding hides nothing. Only what the given leaves of the results need is looked at;
// everything where none is given. Nullopt: no paired values differ. Fails as the evaluation does.
// `kRoundings`: what differs is where values are rounded (see ChangeOfRounding). `kOperations`: in
// double precision, and only an instruction that makes something else than its partner of operands
// that had the same bits before: no rounding does that, wherever it happens.
enum class Sought : uint8_t { kMeaning, kRoundings, kOperations };
Result<std::optional<FoundEdit>> FindEdit(
    const StageValues& values, const std::shared_ptr<const hlo::Module>& before,
    const std::shared_ptr<const hlo::Module>& after, analysis::Alignment alignment,
    std::span<const size_t> leaves, const std::stop_token& stop, Sought sought = Sought::kMeaning);

}  // namespace hloscope::debug
