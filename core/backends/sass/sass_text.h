// What ptxas, nvdisasm and cuobjdump print, read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::replay {

// One instruction of the machine, or a label.
struct SassLine {
  int64_t offset = -1;   // in the kernel's code, bytes; -1: a label
  std::string text;      // "IMAD.WIDE.U32 R2, R5, 0x4, R2", ".L_x_1:"
  int32_t ptx_line = 0;  // of the PTX it was made from, counts from 1; 0: not known
  bool operator==(const SassLine&) const = default;
};

// What a kernel takes; absent: nobody said.
struct KernelResources {
  std::optional<int64_t> registers, barriers;                               // per thread, per block
  std::optional<int64_t> stack_bytes, spill_store_bytes, spill_load_bytes;  // per thread
  std::optional<int64_t> shared_bytes;                                      // static, per block
};

// The code of one kernel in what `nvdisasm -c -gp` or `cuobjdump -sass` printed; empty: it is not
// in there.
std::vector<SassLine> ReadSass(std::string_view printed, std::string_view kernel);

// Of one kernel, from what `ptxas -v` or `cuobjdump -res-usage` printed.
KernelResources ReadResources(std::string_view printed, std::string_view kernel);

// The `.target` of PTX: "sm_90a"; empty: it has none.
std::string TargetOfPtx(std::string_view ptx);

}  // namespace hloscope::replay
