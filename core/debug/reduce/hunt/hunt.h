// Hunt: random programs and mutants on two platforms, each fault found once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/reduce/hunt/examine.h"
#include "core/debug/reduce/hunt/hunt_folder.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

struct FuzzModule {
  std::string name;  // as given
  std::shared_ptr<const hlo::Module> module;
};

// A new fault whose module and inputs are on disk.
struct KeptFault {
  const Examined* examined = nullptr;
  RunSpec request;             // that shows it, on the inputs
  std::string module, inputs;  // files; inputs empty: those of the seed
  std::string bundle;          // the file to be written
};

struct FuzzRequest {
  RunSpec run;                      // platforms, bounds, limits, flags, workers
  std::vector<FuzzModule> modules;  // every second program is a mutant of one of them
  uint64_t seed = 0;
  int64_t rank = 0, ranks = 1;      // runs programs `rank`, `rank` + `ranks`, …
  std::optional<int64_t> programs;  // of all ranks; absent: as many as there is time for
  std::optional<double> minutes;
  std::string folder;
  int jobs = 1;  // programs at a time

  std::function<Status(const KeptFault&)> make_bundle;  // null: none are made
  std::function<void(const Finding&)> on_finding;       // each new one, also of an earlier run
  std::function<void(const FuzzProgress&, size_t faults)> on_progress;
};

struct FuzzReport {
  FuzzProgress progress;
  std::vector<Finding> findings;  // of all ranks so far
  int64_t known = 0;              // of them
  std::vector<UnstableProgram> unstable;
  bool stopped = false;        // before it was through, on request
  std::optional<Error> error;  // why it ended, where that was not meant
};

// Goes on where the folder's progress says. What it finds depends on request and programs alone,
// not on how often it was killed between or how many run at a time: each failure has to come again
// in the same way in processes of its own, or the program counts as unstable.
FuzzReport Fuzz(const FuzzRequest& request, const std::stop_token& stop);

}  // namespace hloscope::debug
