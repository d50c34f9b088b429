// Kernels of a stage, for the three pictures: what each operation became, and what that sums up to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/align/alignment.h"
#include "core/graph/kernel_map.h"
#include "core/graph/overview.h"
#include "viewer/graph/graph_data.h"
#include "viewer/model/context.h"
#include "viewer/widgets/theme.h"

namespace hloscope::viewer {

// Of an earlier stage, mostly the first, against another.
struct SourceKernels {
  analysis::Alignment links;
  std::vector<uint32_t> kernel_of;  // by instruction of the earlier stage
  graph::KernelMembers members;
  std::shared_ptr<const hlo::Module> first;
};

// Null while they are being found. `data` is of the stage, `first` of the module's first stage.
std::shared_ptr<const graph::Overview> OverviewOf(Context& context, int32_t module, int32_t stage,
                                                  const std::shared_ptr<const GraphData>& data,
                                                  const std::shared_ptr<const hlo::Module>& first);
std::shared_ptr<const SourceKernels> SourceKernelsOf(
    Context& context, int32_t module, int32_t stage,
    const std::shared_ptr<const hlo::Module>& first,
    const std::shared_ptr<const hlo::Module>& later,
    const std::shared_ptr<const StageKernels>& kernels, int32_t earlier = 0);
// The kernels of the compiled module in view; null while they are found, or where there are none.
std::shared_ptr<const StageKernels> CompiledKernelsOf(Context& context, int32_t module);

// What one picture shows of them: the kernels of the stage in view, and by instruction of the
// picture's own stage which of them computes it.
struct KernelPaint {
  std::shared_ptr<const StageKernels> kernels;  // null: not compiled, or not found yet
  std::shared_ptr<const SourceKernels> source;  // null in pictures of the stage itself
  std::span<const uint32_t> kernel_of() const {
    if (kernels == nullptr) return {};
    return source != nullptr ? source->kernel_of : kernels->map.kernel_of;
  }
  uint32_t Of(hlo::InstructionId id) const {
    const std::span<const uint32_t> all = kernel_of();
    return id.valid() && id.index < all.size() ? all[id.index] : graph::kNoKernel;
  }
  bool operator==(const KernelPaint&) const = default;
};

// The colour of a kernel, among those of the theme.
uint32_t ColorOfKernel(const Theme& theme, uint8_t color);

// "fusion.3": what a kernel is called.
std::string NameOfKernel(const StageKernels& kernels, uint32_t kernel);

// "fusion.3: 12 operations, from 9 you wrote → device kernel", of a kernel; `source`, where what
// was written is shown, may be null.
std::string ShownText(const StageKernels& kernels, const SourceKernels* source, uint32_t kernel);

}  // namespace hloscope::viewer
