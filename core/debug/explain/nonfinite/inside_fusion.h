// Which fused instruction makes a NaN or an infinity, where only the fusion's result was seen.
#pragma once

#include <memory>
#include <optional>

#include "core/hlo/module.h"
#include "core/replay/capture/nonfinite_search.h"

namespace hloscope::debug {

struct OriginInside {
  std::shared_ptr<const hlo::Module> module;  // of the fusion alone; its instructions keep names
  replay::NonFiniteOrigin origin;             // there
};

// Evaluates the fusion of `origin` on the operands that it had; nothing where it is no fusion, or
// makes none in the evaluator.
std::optional<OriginInside> FindInsideFusion(const hlo::Module& module,
                                             const replay::NonFiniteOrigin& origin,
                                             replay::NonFiniteKind kind);

}  // namespace hloscope::debug
