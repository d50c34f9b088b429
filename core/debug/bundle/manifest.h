// BundleManifest: what a bundle says of the run it records, and its JSON form.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/debug/run/failure.h"
#include "core/debug/run/run_module.h"
#include "core/dump/bundle_file.h"

namespace hloscope::debug {

// What goes in of the values that a run takes and gives.
enum class ValuePolicy : uint8_t { kNone, kShapes, kStatistics, kAll };
std::string_view ToString(ValuePolicy policy);
std::optional<ValuePolicy> ValuePolicyFromText(std::string_view text);

// What came of the run when the bundle was made.
struct RecordedRun {
  RunStatus status = RunStatus::kError;
  std::optional<Failure> failure;                // nothing: it did not fail
  bool inputs_generated = true;                  // from the request's seed
  bool inputs_unread = false;                    // it ended before any value was read
  bool infeed_given = false;                     // what infeeds take came from files
  bool constants_left_out = false;               // values that --constants gave are not in
  std::optional<bool> reduced_inputs_generated;  // the same of the reduced module; absent: none, or
                                                 // made before this was recorded
  bool against_expected = false;                 // with values of files, or a snapshot's result
  std::string inputs_hash, results_hash;         // BundleHash of all bytes; empty: none
};

/// Why a recorded run died, as ErrorKindOf(ErrorClass); empty for other statuses.
std::string_view ErrorKindOfRecorded(const RecordedRun& recorded);

struct BundleManifest {
  std::string tool;  // version of the hloscope that made it
  std::string module, file, stage, framework, target;
  std::string framework_version;  // "2.21.0"; empty: unknown
  std::string xla_version;        // "jaxlib_commit 990e6a0b, xla_client 467"; empty: unknown
  int64_t instructions = 0;
  ValuePolicy values = ValuePolicy::kShapes;
  RunSpec request;  // the members that run_options.def names, and flags
  RecordedRun recorded;
  std::string sentence;              // the verdict for people
  std::string replayed, replay;      // status and verdict of the replay before it was finished
  std::vector<std::string> plugins;  // "jax-cpu-pjrt 0.11.2", of the platforms
  std::vector<std::string> cpu_features;
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, int64_t>> redacted;
};

std::string ManifestJson(const BundleManifest& manifest,
                         std::span<const dump::BundleFile::Listed> parts);
// Input error: it is no manifest, or a value is not one that the field may have.
Result<BundleManifest> ManifestFromJson(std::string_view json);

// The same of a bundle, whose name the error has.
Result<BundleManifest> ManifestOf(const dump::BundleFile& bundle);

// Whether it may be the name of a device or architecture, and is no file.
bool IsTargetName(std::string_view target);

// "--platform", "NAME", "--seed", "7", "--xla_x=true": the options of `run` that differ
// from the defaults. Files and Python environments are not among them.
std::vector<std::string> RunArguments(const RunSpec& request);
// The same in one line, as a shell takes it.
std::string RunOptionsText(const RunSpec& request);

}  // namespace hloscope::debug
