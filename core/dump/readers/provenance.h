// provenance.txt of our own compiler: where the instructions of each stage come from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/rewrite/origins.h"

namespace hloscope::dump {

// `count` instructions from position `after` on, and where they come from.
struct OriginRun {
  hlo::OriginKind kind = hlo::OriginKind::kSame;
  uint32_t after = 0, before = 0, count = 0;
};

// The origins of one stage in another.
struct StageProvenance {
  std::string after, before;  // names of the stages
  hlo::ModuleMark after_mark, before_mark;
  std::vector<OriginRun> runs;  // of positions that the stages have, by their marks
};

// What the text says of each stage. Errors (input): a line of another form, or a position that the
// stage does not have.
Result<std::vector<StageProvenance>> ReadProvenance(std::string_view text);

// The origins of the instructions of stage `after` in stage `before`, through all stages between,
// sorted; nullopt where the text does not lead from one to the other, the stages had other
// instructions or another order of them, or the runs lie over each other more often than any
// compilation's do.
struct StageModule {
  std::string_view name;
  const hlo::Module& module;
};
std::optional<std::vector<hlo::Origin>> OriginsBetween(std::span<const StageProvenance> stages,
                                                       StageModule before, StageModule after);

}  // namespace hloscope::dump
