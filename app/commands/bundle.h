// The actions of `hloscope bundle`, each a function over its files that answers the exit status.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/command.h"
#include "app/commands/pack_bundle.h"
#include "app/run_options.h"

namespace hloscope::app {

struct BundleOptions {
  std::string out, into, reduced, reduced_inputs, verdict;
  bool plan = false;                  // create: only say what would go in
  std::vector<std::string> profiles;  // one, or two to be compared
  PackOptions pack;
};

// Runs what `input` is (a module, a dump, or the line of `diverge` in a file) as the options of
// `run` say, and writes it into one file.
int BundleCreate(const std::string& input, const BundleOptions& options, RunOptionSet& run,
                 const Context& context);
// Replays bundles; platforms of `run` that are named replace the recorded ones.
int BundleCheck(std::span<const std::string> files, const RunOptionSet& run,
                const Context& context);
// Unpacks a bundle into a new folder.
int BundleOpen(const std::string& file, const std::string& into, const Context& context);

}  // namespace hloscope::app
