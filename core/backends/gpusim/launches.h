// Launches: which kernels a module launches for which of its instructions, and how large.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/backends/gpusim/device_program.h"
#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::replay {

class Launches {
 public:
  // Reads them from thunks, kernels and, where those leave a size open, LLVM IR. Errors: those of
  // reading.
  static Result<Launches> Read(const dump::DumpModel& dump, int32_t module);

  // Those of an instruction, in order; `code` of each counts in files(). Unsupported where no file
  // of the dump has the size of one of them.
  Result<std::vector<KernelLaunch>> Of(std::string_view instruction) const;
  // The files of PTX they are in, by their number in the dump.
  const std::vector<int32_t>& files() const { return files_; }

 private:
  friend class LaunchReader;
  std::map<std::string, std::vector<KernelLaunch>, std::less<>> launches_;
  std::map<std::string, std::string, std::less<>> unknown_;  // instruction: kernel of unknown size
  std::vector<int32_t> files_;
};

}  // namespace hloscope::replay
