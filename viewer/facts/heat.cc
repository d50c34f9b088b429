// Heat: values found in the background, once for each measure of a module.
#include "viewer/facts/heat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <functional>
#include <unordered_map>

#include "core/analysis/place/placement.h"
#include "core/graph/kernel_work.h"
#include "viewer/facts/device_facts.h"
#include "viewer/facts/error_curve.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/facts/memory/memory_groups.h"
#include "viewer/facts/profile_model.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/experiment.h"
#include "viewer/model/navigation.h"
#include "viewer/model/number_text.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/timeline_camera.h"

namespace hloscope::viewer {
namespace {

using hlo::InstructionId;

constexpr HeatRow kRows[] = {
#define HEAT(name, id, title, help) {HeatMeasure::name, id, title, help},
#include "viewer/model/heat.def"
#undef HEAT
};

// Relative errors from 1e-8 to 1 are told apart.
constexpr double kErrorDecades = 8;

// Work of all kernels, which bytes, FLOPs and estimates share.
struct ModuleWork {
  graph::KernelMap map;
  std::vector<graph::KernelWork> kernels;
  profiler::DeviceFacts device;
};

const Pending<ModuleWork>* ModuleWorkOf(Context& context, int32_t module, int32_t stage) {
  const Pending<hlo::Module>& read = context.data.Module(module, stage);
  if (!read.ready()) return nullptr;
  return &context.cache.Get(
      PartKey<ModuleWork>{module}, "estimating work",
      [dump = context.document.dump().value, compiled = read.value, module](TaskControl&) {
        auto work = std::make_shared<ModuleWork>();
        const analysis::Placement placement = analysis::PlacementIn(*dump, module, *compiled);
        if (placement.compiled) work->map = graph::MapKernels(*compiled, placement);
        work->kernels = graph::WorkOf(*compiled, work->map);
        work->device = FactsFromDump(*dump, module);
        return Computed<ModuleWork>(std::move(work));
      });
}

void SumUp(HeatFacts& facts) {
  std::vector<InstructionId> hot;
  for (uint32_t i = 0; i < facts.values.size(); ++i) {
    if (facts.values[i] <= 0) continue;
    hot.emplace_back(i);
    facts.sum += facts.values[i];
  }
  const size_t shown = std::min(HeatFacts::kMaxHottest, hot.size());
  std::ranges::partial_sort(
      hot, hot.begin() + static_cast<std::ptrdiff_t>(shown), {},
      [&](InstructionId id) { return std::pair(-facts.values[id.index], id.index); });
  hot.resize(shown);
  facts.hottest = std::move(hot);
  facts.most = facts.hottest.empty() ? 0 : facts.values[facts.hottest.front().index];
  if (facts.hottest.empty() && facts.missing.empty()) facts.missing = "nothing to show";
}

struct HeatKey {
  using Value = HeatFacts;
  HeatMeasure measure = HeatMeasure::kOff;
  int32_t module = -1;
  std::string profile;            // of times
  const void* verdict = nullptr;  // of errors: see CurveVersion
  size_t findings = 0;
  auto operator<=>(const HeatKey&) const = default;
};

using Facts = std::shared_ptr<HeatFacts>;
using Fill = std::function<void(HeatFacts&)>;

Facts Empty(HeatMeasure measure, int32_t module, int32_t stage, std::string missing) {
  auto facts = std::make_shared<HeatFacts>();
  facts->measure = measure;
  facts->module = module;
  facts->stage = stage;
  facts->missing = std::move(missing);
  return facts;
}

std::shared_ptr<const HeatFacts> Found(Context& context, const HeatKey& key, int32_t stage,
                                       const Fill& fill) {
  const Pending<hlo::Module>& read = context.data.Module(key.module, stage);
  if (read.waiting()) return nullptr;
  if (!read.ready()) return Empty(key.measure, key.module, stage, read.error.ToString());
  const Pending<HeatFacts>& made = context.cache.Get(
      key, "measuring heat", [key, stage, fill, module = read.value](TaskControl&) {
        Facts facts = Empty(key.measure, key.module, stage, {});
        facts->of = module;
        facts->values.assign(module->instructions().size(), 0);
        fill(*facts);
        SumUp(*facts);
        return Computed<HeatFacts>(std::move(facts));
      });
  return made.ready() ? made.value : nullptr;
}

// --- One function for each measure

std::shared_ptr<const HeatFacts> HeatOfWork(Context& context, HeatMeasure measure, int32_t module,
                                            int32_t stage) {
  const Pending<ModuleWork>* work = ModuleWorkOf(context, module, stage);
  if (work == nullptr || work->waiting()) return nullptr;
  if (!work->ready()) return Empty(measure, module, stage, work->error.ToString());
  if ((*work)->map.kernels.empty())
    return Empty(measure, module, stage, "no kernels: the module is not compiled");
  if (measure == HeatMeasure::kEstimate && graph::LeastTime({}, (*work)->device) < 0)
    return Empty(measure, module, stage,
                 "the dump does not describe its device: of a GPU XLA writes "
                 "*.gpu_target_config.pbtxt, of a CPU nothing");
  return Found(context, {.measure = measure, .module = module, .profile = {}}, stage,
               [measure, work = work->value](HeatFacts& facts) {
                 int64_t unknown = 0, once = 0;
                 for (size_t k = 0; k < work->kernels.size(); ++k) {
                   const graph::KernelWork& kernel = work->kernels[k];
                   facts.values[work->map.kernels[k].instruction.index] =
                       measure == HeatMeasure::kBytes   ? kernel.traffic.bytes()
                       : measure == HeatMeasure::kFlops ? kernel.flops
                                                        : LeastTime(kernel, work->device);
                   unknown += kernel.is_flops_known ? 0 : 1;
                   once += kernel.is_counted_once ? 1 : 0;
                 }
                 if (measure != HeatMeasure::kBytes && unknown > 0)
                   facts.notes.push_back(CountedText(unknown, "custom call") + " of unknown FLOPs");
                 if (once > 0)
                   facts.notes.push_back(CountedText(once, "kernel") +
                                         " in loops of unknown count, counted once");
                 if (measure == HeatMeasure::kEstimate)
                   facts.notes.push_back("at the peak rates of " + (work->device.name.empty()
                                                                        ? work->device.source
                                                                        : work->device.name));
               });
}

std::shared_ptr<const HeatFacts> HeatOfTimes(Context& context, HeatMeasure measure, int32_t module,
                                             int32_t stage) {
  const std::vector<std::string> paths = ProfilePaths(context);
  if (paths.empty())
    return Empty(
        measure, module, stage,
        "no profile is open: jax.profiler.trace(FOLDER), then `hloscope open DUMP FOLDER`");
  const Pending<KernelSheet>* sheet = KernelSheetOf(context);
  if (sheet == nullptr || sheet->waiting()) return nullptr;
  if (!sheet->ready()) return Empty(measure, module, stage, sheet->error.ToString());
  if (!(*sheet)->has_times)
    return Empty(measure, module, stage, "the profile has no instruction of this module");
  const bool is_model = measure == HeatMeasure::kEstimate;
  return Found(context, {.measure = measure, .module = module, .profile = paths.front()},
               (*sheet)->stage, [is_model, sheet = sheet->value](HeatFacts& facts) {
                 constexpr double kPicosecondsOfMicrosecond = 1e6;
                 for (const KernelRow& row : sheet->rows) {
                   if (!row.instruction.valid() || row.instruction.index >= facts.values.size())
                     continue;
                   facts.values[row.instruction.index] +=
                       is_model ? kPicosecondsOfMicrosecond * row.sums.model_us
                                : static_cast<double>(row.self);
                 }
                 if (is_model) facts.notes.emplace_back("modelled time of the simulated GPU");
                 if (!is_model && sheet->is_simulated)
                   facts.notes.emplace_back("times of the simulation, not of a GPU");
               });
}

// A module that was simulated has better estimates than those by shapes.
std::shared_ptr<const HeatFacts> HeatOfEstimates(Context& context, int32_t module, int32_t stage) {
  if (!ProfilePaths(context).empty()) {
    const Pending<KernelSheet>* sheet = KernelSheetOf(context);
    if (sheet == nullptr || sheet->waiting()) return nullptr;
    if (sheet->ready() && (*sheet)->is_simulated)
      return HeatOfTimes(context, HeatMeasure::kEstimate, module, stage);
  }
  return HeatOfWork(context, HeatMeasure::kEstimate, module, stage);
}

std::shared_ptr<const HeatFacts> HeatOfErrors(Context& context, int32_t module, int32_t stage) {
  if (context.experiment.running())
    return Empty(HeatMeasure::kError, module, stage, "the run is not finished");
  const CurveVersion version = CurveVersionOf(context, module);
  const HeatKey key{.measure = HeatMeasure::kError,
                    .module = module,
                    .profile = {},
                    .verdict = version.verdict,
                    .findings = version.findings};
  if (const Pending<HeatFacts>* made = context.cache.Find(key))
    return made->ready() ? made->value : nullptr;
  ErrorCurve curve = CurveOf(context, module);
  if (curve.points.empty())
    return Empty(HeatMeasure::kError, module, stage,
                 curve.compared > 0 ? "no value differs in any bit"
                                    : "no values compared: run the module on the screen "
                                      "Divergence, or open a verdict of `diverge --json`");
  // The stage that ran has the instructions.
  const ExperimentRequest& request = context.experiment.request();
  const bool ran = context.experiment.module() != nullptr && request.module_index == module &&
                   request.stage >= 0;
  return Found(context, key, ran ? request.stage : stage,
               [points = std::move(curve.points)](HeatFacts& facts) {
                 std::unordered_map<std::string_view, uint32_t> named;
                 for (uint32_t i = 0; i < facts.values.size(); ++i)
                   named.emplace(facts.of->name(InstructionId(i)), i);
                 int64_t elsewhere = 0;
                 for (const debug::WalkPoint& point : points) {
                   const auto found = named.find(point.instruction);
                   if (found == named.end()) {
                     ++elsewhere;
                     continue;
                   }
                   double& value = facts.values[found->second];
                   value = std::max(value, HeightOf(point, true));
                 }
                 if (elsewhere > 0)
                   facts.notes.push_back(CountedText(elsewhere, "value") + " of other stages");
               });
}

std::shared_ptr<const HeatFacts> HeatOfPeak(Context& context, int32_t module, int32_t stage) {
  const Pending<dump::BufferTable>& table = context.data.Buffers(module);
  if (table.waiting()) return nullptr;
  if (!table.ready() || !table->has_values())
    return Empty(HeatMeasure::kPeak, module, stage,
                 table.ready() ? "no buffer assignment of this module" : table.error.ToString());
  return Found(context, {.measure = HeatMeasure::kPeak, .module = module, .profile = {}}, stage,
               [table = table.value](HeatFacts& facts) {
                 const MemoryPlan plan = PlanOf(*table);
                 int64_t unknown = 0;
                 for (const PeakValue& value : PeakValuesOf(*table, plan, *facts.of)) {
                   if (!value.instruction.valid()) {
                     unknown += value.bytes;
                     continue;
                   }
                   facts.values[value.instruction.index] += static_cast<double>(value.bytes);
                 }
                 if (!plan.has_lives)
                   facts.notes.emplace_back("no live ranges in the dump: all buffers");
                 if (unknown > 0)
                   facts.notes.push_back(BytesText(unknown) + " of unknown instructions");
               });
}

}  // namespace

std::span<const HeatRow> HeatRows() { return kRows; }
const HeatRow& HeatRowOf(HeatMeasure measure) { return kRows[static_cast<size_t>(measure)]; }

HeatMeasure MeasureInView(const Context& context) {
  if (context.heat.is_chosen) return context.heat.measure;
  return ProfilePaths(context).empty() ? HeatMeasure::kOff : HeatMeasure::kTime;
}

void ChooseHeat(Context& context, HeatMeasure measure) { context.heat = {true, measure}; }

double HeatFacts::PlaceOf(double value) const {
  if (value <= 0 || most <= 0) return 0;
  if (measure == HeatMeasure::kError)
    return std::clamp(1 + std::log10(value) / kErrorDecades, 0.0, 1.0);
  return std::clamp(value / most, 0.0, 1.0);
}

double HeatFacts::ValueAt(double place) const {
  if (measure == HeatMeasure::kError) return std::pow(10.0, kErrorDecades * (place - 1));
  return place * most;
}

std::string HeatFacts::ToText(double value) const {
  switch (measure) {
    case HeatMeasure::kTime:
    case HeatMeasure::kEstimate:
      return TimeText(value);
    case HeatMeasure::kBytes:
    case HeatMeasure::kPeak:
      return BytesText(static_cast<int64_t>(std::min(value, 9e18)));
    case HeatMeasure::kFlops:
      return SiText(value, "FLOP");
    case HeatMeasure::kError:
      return value >= 1e300 ? "NaN or infinity" : fmt::format("{:.2g}", value);
    case HeatMeasure::kOff:
      break;
  }
  return {};
}

std::string HeatFacts::ShareText(double value) const {
  if (sum <= 0 || measure == HeatMeasure::kError) return {};
  const double share = 100 * value / sum;
  return share < 0.05 ? "< 0.1 %" : fmt::format("{:.1f} %", share);
}

std::shared_ptr<const HeatFacts> HeatInView(Context& context) {
  const HeatMeasure measure = MeasureInView(context);
  return measure == HeatMeasure::kOff ? nullptr : HeatFactsOf(context, measure);
}

std::shared_ptr<const HeatFacts> HeatFactsOf(Context& context, HeatMeasure measure) {
  const Pending<dump::DumpModel>& dump = context.document.dump();
  const int32_t module = context.navigation.module();
  if (!dump.ready() || module < 0) return nullptr;
  const int32_t stage = dump->FinalStage(module);
  if (stage < 0) return Empty(measure, module, stage, "the module was not compiled");
  switch (measure) {
    case HeatMeasure::kTime:
      return HeatOfTimes(context, measure, module, stage);
    case HeatMeasure::kEstimate:
      return HeatOfEstimates(context, module, stage);
    case HeatMeasure::kBytes:
    case HeatMeasure::kFlops:
      return HeatOfWork(context, measure, module, stage);
    case HeatMeasure::kError:
      return HeatOfErrors(context, module, stage);
    case HeatMeasure::kPeak:
      return HeatOfPeak(context, module, stage);
    case HeatMeasure::kOff:
      break;
  }
  return nullptr;
}

}  // namespace hloscope::viewer
