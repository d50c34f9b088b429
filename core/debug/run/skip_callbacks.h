// SkipCallbacks: a module without the calls into the host program that nobody needs to replay it:
// the function of a callback is in no dump.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

struct WithoutCallbacks {
  std::shared_ptr<const hlo::Module> module;  // the same where nothing was left out
  std::vector<std::string> skipped;           // names of what was
};

// Leaves out every host callback whose results carry no value or are used by nobody; tokens pass it
// by. An unsupported error that names callback and user where a result is used.
Result<WithoutCallbacks> SkipCallbacks(std::shared_ptr<const hlo::Module> module);

// What a report says of them: "debug_callback.1 was left out: …"; empty: nothing was.
std::string SkippedText(const std::vector<std::string>& skipped);

}  // namespace hloscope::debug
