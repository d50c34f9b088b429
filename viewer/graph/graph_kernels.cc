// Kernels, found in the background once for each stage.
#include "viewer/graph/graph_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/analysis/align/alignment.h"
#include "core/analysis/align/provenance.h"
#include "core/graph/computed_by.h"
#include "core/graph/count_text.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/facts/pass_ranking.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/number_text.h"
#include "viewer/model/task_cache.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

int64_t CountOperations(const hlo::Module& module, std::span<const hlo::InstructionId> members) {
  return std::ranges::count_if(
      members, [&](hlo::InstructionId id) { return graph::IsOperation(module, id); });
}

struct SourceKey {
  using Value = SourceKernels;
  int32_t module = -1, earlier = 0, stage = -1;
  auto operator<=>(const SourceKey&) const = default;
};

}  // namespace

std::shared_ptr<const StageKernels> CompiledKernelsOf(Context& context, int32_t module) {
  const int32_t stage = context.document.dump()->FinalStage(module);
  if (stage < 0) return nullptr;
  const Pending<hlo::Module>& read = context.data.Module(module, stage);
  if (!read.ready()) return nullptr;
  const Pending<StageKernels>& made = context.cache.Get(
      PartKey<StageKernels>{module}, "finding kernels",
      [dump = context.document.dump().value, compiled = read.value, module](TaskControl&) {
        return Computed<StageKernels>(std::make_shared<StageKernels>(
            compiled, analysis::PlacementIn(*dump, module, *compiled)));
      });
  return made.ready() ? made.value : nullptr;
}

std::shared_ptr<const graph::Overview> OverviewOf(Context& context, int32_t module, int32_t stage,
                                                  const std::shared_ptr<const GraphData>& data,
                                                  const std::shared_ptr<const hlo::Module>& first) {
  const Pending<graph::Overview>& found = context.cache.Get(
      PartKey<graph::Overview>{module, stage}, "counting kernels", [data, first](TaskControl&) {
        return Computed<graph::Overview>(std::make_shared<graph::Overview>(
            graph::MakeOverview(*first, *data->module, data->placement, data->kernels->map)));
      });
  return found.ready() ? found.value : nullptr;
}

std::shared_ptr<const SourceKernels> SourceKernelsOf(
    Context& context, int32_t module, int32_t stage,
    const std::shared_ptr<const hlo::Module>& first,
    const std::shared_ptr<const hlo::Module>& later,
    const std::shared_ptr<const StageKernels>& kernels, int32_t earlier) {
  // Until it is known how much there is to read.
  if (FactsOf(context, module).waiting()) return nullptr;
  const Pending<SourceKernels>& found = context.cache.Get(
      SourceKey{module, earlier, stage}, "linking source and fused graph",
      [provenance = context.data.Provenance(module), earlier, stage, first, later, kernels,
       through_all = MayReadAllStages(context, module)](TaskControl&) {
        auto made = std::make_shared<SourceKernels>();
        made->links = provenance == nullptr
                          ? analysis::Align(*first, *later)
                          : provenance->lineage().Between(earlier, *first, stage, *later);
        // As Selection follows it; a direct way may lead to a kernel like the right one.
        Result<std::vector<uint32_t>> each =
            provenance != nullptr && through_all
                ? graph::KernelOfEach(provenance->lineage(), earlier, stage, kernels->map)
                : InputError("not followed");
        made->kernel_of = each ? graph::WithFoldedOperations(*first, *std::move(each))
                               : graph::MapOperations(*first, made->links, kernels->map);
        made->members = graph::KernelMembers(made->kernel_of, kernels->map.kernels.size());
        made->first = first;
        return Computed<SourceKernels>(std::move(made));
      });
  return found.ready() ? found.value : nullptr;
}

uint32_t ColorOfKernel(const Theme& theme, uint8_t color) {
  constexpr std::array<Color, graph::kCollectiveColor + 1> kColors = {
      Color::kKernel1, Color::kKernel2,        Color::kKernel3,   Color::kKernel4,
      Color::kKernel5, Color::kDeviceFallback, Color::kCollective};
  return theme[kColors[color]];
}

std::string NameOfKernel(const StageKernels& kernels, uint32_t kernel) {
  if (kernel >= kernels.map.kernels.size()) return {};
  return SafeText(kernels.module->name(kernels.map.kernels[kernel].instruction), 60);
}

std::string ShownText(const StageKernels& kernels, const SourceKernels* source, uint32_t kernel) {
  if (kernel >= kernels.map.kernels.size()) return {};
  const graph::KernelMap::Kernel& one = kernels.map.kernels[kernel];
  std::string from;
  if (source != nullptr) {
    const int64_t written = CountOperations(*source->first, source->members.Of(kernel));
    // What it shares is another kernel's in `source`.
    if (written > 0) from = fmt::format(", from {} you wrote", CountText(written));
  }
  return fmt::format(
      "{}: {}{} → {}", NameOfKernel(kernels, kernel),
      graph::CountedText(CountOperations(*kernels.module, kernels.members.Of(kernel)), "operation"),
      from, Describe(one.place));
}

}  // namespace hloscope::viewer
