// FindEdits: the instructions at which two modules begin to differ, one for each result that those
// before do not explain.
#pragma once

#include <memory>
#include <span>
#include <stop_token>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/stage_values.h"

namespace hloscope::debug {

// As FindEdit, of the results `leaves`, by number: place and edit of `verdict` are those of the
// first, told as what `after` has where `before` has something else. Results that it does not lead
// to are findings of their own, eight at most; two minutes later no more are looked for. What
// cannot be found out is a warning.
void FindEdits(const StageValues& values, const std::shared_ptr<const hlo::Module>& before,
               const std::shared_ptr<const hlo::Module>& after, std::span<const size_t> leaves,
               const std::stop_token& stop, DivergeVerdict& verdict);

}  // namespace hloscope::debug
