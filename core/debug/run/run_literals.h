// Literals files of run_hlo_module, for what a replay runs on and what it gives.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/proto/proto.h"

namespace hloscope::debug {

// The iterations in a literals file, text or binary, packed or not. Errors: it cannot be read, or
// holds something else.
Result<std::vector<hlo::IterationLiterals>> ReadLiteralsFile(const std::string& path,
                                                             const Limits& limits);
Status WriteLiteralsFile(const std::string& path,
                         std::span<const hlo::IterationLiterals> iterations);

// Leaves put back together as a value of `shape`; nullopt if one has no value.
std::optional<hlo::Literal> FromLeaves(const hlo::Shape& shape,
                                       std::span<const Result<hlo::Literal>> leaves);

}  // namespace hloscope::debug
