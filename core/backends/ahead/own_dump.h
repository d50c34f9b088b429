// The files of a compilation of ours.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/backends/ahead/code_texts.h"
#include "core/base/result.h"
#include "core/compile/compile.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

// Writes the dump of `compiled`, which was made of `before` and keeps its stages, into the folder:
// of its stages the one before fusion, with `passes` all; how many files there are. Environment
// error: one cannot be written.
Result<int64_t> WriteOwnDump(const std::string& folder,
                             const std::shared_ptr<const hlo::Module>& before,
                             const compile::Compilation& compiled, const CodeTexts& code,
                             bool passes);

}  // namespace hloscope::replay
