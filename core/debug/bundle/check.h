// CheckBundle: replays what a bundle records, and says whether it happens here too.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/debug/bundle/manifest.h"
#include "core/dump/bundle_file.h"
#include "core/replay/workers/worker_pool.h"

namespace hloscope::debug {

enum class CheckStatus : uint8_t { kReproduced, kNotReproduced, kCannot };
// "reproduced", "not_reproduced", "cannot".
std::string_view ToString(CheckStatus status);

struct CheckOptions {
  Limits limits;
  // What the user gave. Platforms, target and flags replace the recorded ones; the others are the
  // most that a bundle may ask for.
  std::string platform, reference_platform;  // empty: the recorded ones
  std::string reference_python;              // of the reference platform; empty: --python's
  std::string gpu_target;                    // empty: the recorded one
  std::vector<std::pair<std::string, std::string>> xla_flags, reference_flags;
  bool verify = true;                      // false: modules that the verifier rejects run too
  std::optional<double> deadline_seconds;  // absent: the limit
  int64_t memory_bytes = 0;                // 0: the limit
  int threads = 0;                         // 0: all CPUs
  std::shared_ptr<replay::WorkerPool> workers;
};

struct BundleCheck {
  CheckStatus status = CheckStatus::kCannot;
  std::vector<std::string> missing;  // what it takes to replay it, each with where to get it
  std::vector<std::string> refused;  // fields of its request that a bundle may not set, by name
  std::string verdict;               // a sentence
  // Of the smaller module in the bundle, where there is one; kCannot also without its inputs.
  std::optional<CheckStatus> reduced;
  std::vector<std::string> notes;   // what is otherwise here than where it was recorded
  std::optional<RunReport> report;  // absent: nothing ran
};

/// Replays an untrusted bundle: of its request only what RequestFromUntrusted takes, on a module
/// that the verifier accepts. Input error: its manifest, module or values cannot be read.
Result<BundleCheck> CheckBundle(const dump::BundleFile& bundle, const CheckOptions& options,
                                const std::stop_token& stop = {});

// How a run went, as a bundle records it; names of `module` do not count.
RecordedRun RecordOf(const RunReport& report, const hlo::Module& module);

}  // namespace hloscope::debug
