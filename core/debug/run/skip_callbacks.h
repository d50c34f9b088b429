// SkipCallbacks: a module without the calls into the host program that a replay does not need:
// the function of a callback is in no dump.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

struct KeptCallback {
  std::string name;
  std::string user;  // of its result: an instruction, or "a result of COMPUTATION"
};

struct WithoutCallbacks {
  std::shared_ptr<const hlo::Module> module;  // the same where nothing was left out
  std::vector<std::string> skipped;           // names of what was
  std::vector<KeptCallback> kept;
};

// Leaves out every host callback whose results carry no value or are unused; tokens pass it by.
// Where a result is used it stays: only a run that executes it fails.
Result<WithoutCallbacks> SkipCallbacks(std::shared_ptr<const hlo::Module> module);

// What a report says of them: "debug_callback.1 was left out: …"; empty: nothing was.
std::string SkippedText(const std::vector<std::string>& skipped);
// A line for each of the first that stay.
std::vector<std::string> KeptTexts(const std::vector<KeptCallback>& kept);

}  // namespace hloscope::debug
