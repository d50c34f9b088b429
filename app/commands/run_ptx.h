// `run K.ptx`: the options of a PTX text that runs alone, and what is told of it.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "app/command.h"
#include "core/debug/run/run_spec.h"

namespace hloscope::app {

class PtxRun {
 public:
  std::vector<OptionSpec> Specs();
  // True of a file of PTX.
  static bool IsPtx(const std::string& file) { return file.ends_with(".ptx"); }
  // The first that simulates a GPU.
  static std::string DefaultPlatform();
  // Input error: an option that is of PTX alone, without one; with one, an option that it does not
  // read. `files` are what is run, `given` the names of options.
  Status Check(const std::vector<std::string>& files, const std::vector<std::string>& given) const;
  // Runs it on the platform of `run`, whole `print`: every element of results; the exit status.
  int Run(const std::string& file, const debug::RunSpec& run, bool print, const Context& context,
          const std::stop_token& stop) const;

 private:
  std::string entry_, grid_, block_;
  uint64_t shared_bytes_ = 0;
  std::vector<std::string> arguments_;
};

}  // namespace hloscope::app
