// CreateBundle: one run, everything that shows what is wrong with it, and nothing that says who ran
// it, in one file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/debug/bundle/dumped_kernels.h"
#include "core/debug/bundle/manifest.h"
#include "core/debug/bundle/redact_module.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

struct BundleSource {
  std::shared_ptr<const hlo::Module> module;
  bool as_proto = false;                 // the file was one: the bundle has one too
  std::string file;                      // as given
  std::string stage, framework, target;  // of the dump it lies in; empty: unknown
  std::string framework_version, xla_version;
  RunSpec request;                  // the run to record; its workers stay
  std::optional<RunReport> report;  // of that run, where it has been; ValuePolicy::kAll repeats it

  DumpedKernels kernels;  // that the run runs; none: those that are compiled for it
  std::shared_ptr<const BundledKernels> unpacked;  // they came out of a bundle: for its run

  // Texts that go in redacted; empty: none.
  std::string stablehlo;      // StableHLO or MHLO, text
  std::string ptx;            // of its kernels
  std::string debug_options;  // flags of XLA that are not the default, as the dump tells them
  std::string log;            // what the program that was recorded wrote
  std::string verdict_json;   // the line of `diverge`
  std::string profile_json, profile_comparison_json;
  std::string note;
  std::vector<std::string> notes;            // which module of a dump it is, and such, in sentences
  std::shared_ptr<const hlo::Module> other;  // whose results are those expected; null: none
  // Around the pass that the verdict blames; null: none, or the dump is not at hand.
  std::shared_ptr<const hlo::Module> before_pass, after_pass;
  std::shared_ptr<const hlo::Module> reduced;
  std::vector<hlo::Literal> reduced_arguments;  // what it fails on; empty: made up from the seed

  ValuePolicy values = ValuePolicy::kShapes;
  RedactionOptions redaction;
  std::string tool;      // version of this program
  std::string out_name;  // what the bundle will be called, for the commands in it

  // The report as `run --json` prints it.
  std::function<std::string(const RunReport&)> run_json;
  // Replays the unfinished bundle in that file in a process of its own: status and verdict.
  std::function<Result<std::pair<std::string, std::string>>(const std::string& path)> replay;
};

struct MadeBundle {
  std::string bytes;
  BundleManifest manifest;
  std::vector<dump::BundlePart> parts;
};

// A part that is to go in.
struct PlannedPart {
  dump::BundlePart part = dump::BundlePart::kManifest;
  std::optional<int64_t> bytes = {};  // absent: known when it has run
  bool of_run = false;                // goes in where the run gives it
};

struct BundlePlan {
  std::vector<PlannedPart> parts;                         // in the order of the bundle
  int64_t bytes = 0;                                      // of all whose size is known
  int64_t packed_bytes = 0;                               // the same, compressed
  std::vector<std::pair<std::string, int64_t>> redacted;  // in those, by kind
  std::vector<std::string> notes;
};

// What CreateBundle would put in, made by the same steps; nothing runs. The sizes are those of the
// bundle, unless messages of the run show names of users or hosts that have to be redacted
// elsewhere too. Fails where the module cannot be redacted.
Result<BundlePlan> PlanBundle(const BundleSource& source, const std::stop_token& stop = {});

// Runs the module, unless a report is given, then once more in the replay. Fails where the module
// cannot be redacted or no file can be written; a run that fails is what bundles are for.
Result<MadeBundle> CreateBundle(const BundleSource& source, const std::stop_token& stop = {});

}  // namespace hloscope::debug
