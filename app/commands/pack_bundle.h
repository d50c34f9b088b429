// PackBundle: what a command was asked and what it found, in one file; and the step of `run`,
// `diverge` and `reduce` that makes one.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.h"
#include "app/commands/bundle_input.h"
#include "app/run_options.h"
#include "core/debug/bundle/create.h"

namespace hloscope::app {

// The options that say how much goes in.
struct PackOptions {
  std::string values = "shapes", note, text = "needed";
  bool no_source = false;
  // `when` begins the help of each: "create: ".
  std::vector<OptionSpec> Specs(std::string_view when);
};

// What goes in beside the module and its run.
struct BundleFindings {
  std::string verdict = {};                       // the line of `diverge --json`; empty: none
  std::shared_ptr<const hlo::Module> other = {};  // that it is compared with; null: none
  std::shared_ptr<const hlo::Module> before_pass = {}, after_pass = {};  // null: none
  std::shared_ptr<const hlo::Module> reduced = {};                       // null: none
  std::vector<hlo::Literal> reduced_arguments = {};   // what it fails on; empty: from the seed
  std::optional<debug::RunReport> report = {};        // of the run, where it has been
  std::string profile = {}, profile_comparison = {};  // JSON; empty: none
};

// Input error: `out`, which `option` names, is one of the files `read` or one that the run reads.
Status CheckBundleFile(std::string_view option, const std::string& out,
                       std::initializer_list<std::span<const std::string>> read,
                       const debug::RunSpec& request);

// Runs the module as the options of `run` say, replays the bundle in a process of its own and
// writes it to `out`, which may not be what it is made of. Workers are started where the request
// has none.
Result<debug::MadeBundle> PackBundle(const BundleInput& input, BundleFindings findings,
                                     const PackOptions& options, RunOptionSet& run,
                                     const std::string& out, const Limits& limits,
                                     const std::stop_token& stop);

// What PackBundle would put in; nothing runs and nothing is written.
Result<debug::BundlePlan> PlanPacking(const BundleInput& input, BundleFindings findings,
                                      const PackOptions& options, RunOptionSet& run,
                                      const std::string& out, const Limits& limits,
                                      const std::stop_token& stop);

// --bundle and what goes with it.
class BundleStep {
 public:
  std::vector<OptionSpec> Specs();
  // Before anything runs. Input error: options that mean nothing without --bundle.
  Status Check() const;
  bool asked() const { return !out_.empty(); }
  const std::string& file() const { return out_; }

  // Makes the bundle of `given` (see FindBundleInput) and prints what is in it, or adds it to
  // `line`, the command's object of JSON. The exit status: kGood, or that of the error.
  int Make(const std::string& given, BundleFindings findings, RunOptionSet& run,
           const Context& context, const std::stop_token& stop, std::string& line) const;

 private:
  std::string out_;
  PackOptions options_;
};

// "to report this: hloscope bundle create M.hlo -o M.hlob …" and a line break; `options` as
// RunOptionSet::OptionsText gives them. Empty for standard input.
std::string ReportHint(const std::string& module, const std::string& options);

}  // namespace hloscope::app
