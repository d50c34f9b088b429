// CheckBundle: replays what a bundle records, and says whether it happens here too.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/debug/bundle/manifest.h"
#include "core/dump/bundle_file.h"

namespace hloscope::debug {

enum class CheckStatus : uint8_t { kReproduced, kNotReproduced, kCannot };
// "reproduced", "not_reproduced", "cannot".
std::string_view ToString(CheckStatus status);

struct BundleCheck {
  CheckStatus status = CheckStatus::kCannot;
  std::vector<std::string> missing;  // what it takes to replay it, each with where to get it
  std::vector<std::string> refused;  // fields of its request that a bundle may not set, by name
  std::string verdict;               // a sentence
  // Of the smaller module in the bundle, where there is one; kCannot also without its inputs.
  std::optional<CheckStatus> reduced;
  // Whether the modules around the pass that the verdict blames differ, where they are in it.
  std::optional<CheckStatus> stages;
  std::vector<std::string> notes;   // what is otherwise here than where it was recorded
  std::optional<RunReport> report;  // absent: nothing ran
};

/// Replays an untrusted bundle: of its request only what RequestFromUntrusted takes beside `own`,
/// in whose workers it runs, on a module that the verifier accepts. Input error: its manifest,
/// module or values cannot be read.
Result<BundleCheck> CheckBundle(const dump::BundleFile& bundle, const RunSpec& own,
                                const std::stop_token& stop = {});

/// The longest that the replay of such a run takes and of so many further ones, each its deadline,
/// and starting and reading as well. Further are two for another module whose results are expected,
/// two for the modules around a pass and one for a reduced module.
std::chrono::milliseconds LongestReplay(const RunSpec& run, int further);

// How a run went, as a bundle records it; names of `module` do not count.
RecordedRun RecordOf(const RunReport& report, const hlo::Module& module);

}  // namespace hloscope::debug
