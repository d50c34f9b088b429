// `run K.ptx`: an entry of a PTX text alone on the simulated GPU, on arrays and numbers that are
// given one by one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/budget.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/replay/capture/run_stream.h"
#include "core/replay/run_options.h"

namespace hloscope::debug {

struct PtxRunSpec {
  std::string file;   // - is standard input
  std::string entry;  // may be empty where the text has one
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{0, 0, 0};  // zeros: those of .reqntid
  uint64_t shared_bytes = 0;               // beyond what the entry declares
  // In the order of the parameters: IN.npy, out:f32[4,8], out:f32[4,8]=OUT.npy, inout:F.npy,
  // inout:F.npy=OUT.npy, u32:5, f32:0.5; bf16:IN.npy and inout:bf16:F.npy name the type.
  std::vector<std::string> arguments;
  replay::GpuChecks checks;
  Budget budget;
  Limits limits;
};

// What the kernel left in an argument that is out or inout.
struct PtxResult {
  int64_t argument = 0;
  std::string name;  // of the parameter
  hlo::Literal value;
  std::string file;  // that it was written to; may be empty
};

struct PtxRunReport {
  std::string entry, target;
  std::array<uint32_t, 3> grid{}, block{};
  uint64_t warp_instructions = 0;
  std::vector<PtxResult> results;
  std::vector<replay::RunFinding> findings;
  std::vector<std::string> warnings;
};

// Launches, and writes the files that results were given. Errors: input for arguments that do not
// fit the parameters, unsupported for instructions that are not executed, kCrashed where the kernel
// stops or touches what is not its own.
Result<PtxRunReport> RunPtx(const PtxRunSpec& spec);

// "4", "4,2" or "4,2,1", each at least 1.
Result<std::array<uint32_t, 3>> ExtentFromText(std::string_view option, std::string_view text);

}  // namespace hloscope::debug
