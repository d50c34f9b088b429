// Overviews: counted, said and written.
#include "core/graph/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/base/json.h"
#include "core/graph/count_text.h"
#include "core/graph/kernel_work.h"
#include "core/graph/labels.h"
#include "core/hlo/analysis/cost.h"

namespace hloscope::graph {
namespace {

using hlo::InstructionId;

// What one of a lane is called in a sentence.
struct LaneWord {
  Lane lane;
  std::string_view one, many;
};
constexpr LaneWord kDeviceWords[] = {{Lane::kKernels, "kernel", "kernels"},
                                     {Lane::kLibraries, "library call", "library calls"},
                                     {Lane::kCopies, "copy", "copies"},
                                     {Lane::kCollectives, "collective", "collectives"}};

int64_t At(const LaneCounts& lanes, Lane lane) { return lanes[static_cast<size_t>(lane)]; }

// How much a kernel tells of a module, the more the greater: work on the host comes first, with
// most bytes; then the kernel of most operations; of equals no copy, and the one that costs most.
using Telling = std::tuple<bool, int64_t, bool, double>;

Telling TellingOf(const hlo::Module& module, const KernelMap::Kernel& kernel, int64_t inside,
                  const analysis::Placement& placement) {
  if (kernel.place == analysis::Place::kHost) {
    // They stand in program order.
    auto moved = std::ranges::lower_bound(placement.transfers, kernel.instruction, {},
                                          &analysis::Transfer::instruction);
    const bool known =
        moved != placement.transfers.end() && moved->instruction == kernel.instruction;
    return {true, known ? std::max<int64_t>(moved->bytes, 0) : 0, true, 0};
  }
  const hlo::Cost& cost = hlo::CostsOf(module).Of(kernel.instruction);
  return {false, inside, kernel.place != analysis::Place::kCopy,
          cost.flops + cost.transcendentals + cost.bytes()};
}

void FindTelling(const hlo::Module& module, const KernelMap& map,
                 const std::vector<int64_t>& inside, const analysis::Placement& placement,
                 Overview& overview) {
  std::optional<Telling> most;
  for (uint32_t k = 0; k < map.kernels.size(); ++k) {
    const KernelMap::Kernel& kernel = map.kernels[k];
    const Telling telling = TellingOf(module, kernel, inside[k], placement);
    if (most && telling <= *most) continue;
    most = telling;
    overview.telling = kernel.instruction;
    overview.telling_operations = inside[k];
  }
}

}  // namespace

Overview MakeOverview(const hlo::Module& first, const hlo::Module& final_stage,
                      const analysis::Placement& placement) {
  const KernelMap map = placement.compiled ? MapKernels(final_stage, placement) : KernelMap();
  return MakeOverview(first, final_stage, placement, map);
}

Overview MakeOverview(const hlo::Module& first, const hlo::Module& final_stage,
                      const analysis::Placement& placement, const KernelMap& map) {
  Overview overview;
  overview.compiled = placement.compiled;
  for (uint32_t i = 0; i < first.instructions().size(); ++i)
    overview.operations += IsOperation(first, InstructionId(i)) ? 1 : 0;
  if (!placement.compiled) return overview;
  overview.lanes = CountLanes(map);
  std::vector<int64_t> inside(map.kernels.size(), 0);
  for (uint32_t i = 0; i < map.kernel_of.size(); ++i) {
    const uint32_t kernel = map.kernel_of[i];
    if (placement.instructions[i].place == analysis::Place::kNoCode) ++overview.no_code;
    if (kernel != kNoKernel && IsOperation(final_stage, InstructionId(i))) ++inside[kernel];
  }
  overview.host_bytes = placement.bytes;
  overview.unknown_transfers = placement.unknown_transfers;
  if (At(overview.lanes, Lane::kHost) > 0) {
    const std::vector<KernelWork> works = WorkOf(final_stage, map);
    double bytes = 0;
    for (size_t k = 0; k < works.size(); ++k) {
      if (LaneOf(map.kernels[k].place) != Lane::kHost) continue;
      bytes += works[k].traffic.bytes();
      overview.is_host_work_counted_once |= works[k].is_counted_once;
    }
    overview.host_work_bytes = hlo::WholeBytes(bytes);
  }
  FindTelling(final_stage, map, inside, placement, overview);
  return overview;
}

LaneCounts CountLanes(const KernelMap& map) {
  LaneCounts lanes{};
  for (const KernelMap::Kernel& kernel : map.kernels)
    ++lanes[static_cast<size_t>(LaneOf(kernel.place))];
  return lanes;
}

std::string ToText(const LaneCounts& lanes) {
  std::string text;
  for (const LaneWord& row : kDeviceWords) {
    const int64_t count = At(lanes, row.lane);
    if (count == 0) continue;
    if (!text.empty()) text += ", ";
    text += CountedText(count, row.one, row.many);
  }
  return text.empty() ? "no kernel" : text;
}

void WriteLanes(const LaneCounts& lanes, JsonWriter& json) {
  for (int lane = 0; lane < kLaneCount; ++lane) {
    if (static_cast<Lane>(lane) == Lane::kRuntime) continue;
    json.Field(KeyOf(static_cast<Lane>(lane)), At(lanes, static_cast<Lane>(lane)));
  }
}

std::string ToSentence(const Overview& overview) {
  std::string text = CountedText(overview.operations, "operation");
  if (!overview.compiled) return text + ", not compiled yet";
  text += " → " + ToText(overview.lanes);
  const int64_t host = At(overview.lanes, Lane::kHost),
                memory = At(overview.lanes, Lane::kHostMemory);
  text += host == 0 ? std::string(" → nothing on the host")
                    : fmt::format(" → {} on the host", CountedText(host, "operation"));
  if (memory > 0) text += ", " + CountedText(memory, "move") + " to or from host memory";
  if (overview.host_bytes > 0) text += fmt::format(", {} moved", BytesText(overview.host_bytes));
  if (host > 0 && overview.host_bytes == 0 && overview.unknown_transfers == 0 &&
      overview.host_work_bytes > 0)
    text += fmt::format(", {} read and written{}", BytesText(overview.host_work_bytes),
                        overview.is_host_work_counted_once ? ", counting each once" : "");
  if (overview.unknown_transfers > 0)
    text += fmt::format(" and {} of unknown size", CountedText(overview.unknown_transfers, "move"));
  return text;
}

void WriteOverview(const hlo::Module& final_stage, const Overview& overview,
                   const analysis::Placement& placement, JsonWriter& json) {
  json.BeginObject().Field("operations", overview.operations);
  WriteLanes(overview.lanes, json);
  json.Field("no_code", overview.no_code).Field("host_bytes", overview.host_bytes);
  json.Field("host_work_bytes", overview.host_work_bytes);
  json.Field("unknown_transfers", overview.unknown_transfers).Key("shown");
  if (!overview.telling.valid()) {
    json.Null();
  } else {
    const analysis::Place place = placement.instructions[overview.telling.index].place;
    json.BeginObject().Field("instruction", final_stage.name(overview.telling));
    json.Field("place", KeyOf(place));
    json.Field("operations", overview.telling_operations).EndObject();
  }
  json.Field("sentence", ToSentence(overview)).EndObject();
}

}  // namespace hloscope::graph
