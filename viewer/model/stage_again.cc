// Instructions of a stage by name in another reading.
#include "viewer/model/stage_again.h"

#include <string_view>
#include <unordered_map>

namespace hloscope::viewer {
namespace {

bool HasSameNames(const hlo::Module& a, const hlo::Module& b) {
  if (a.instructions().size() != b.instructions().size()) return false;
  for (uint32_t i = 0; i < a.instructions().size(); ++i) {
    if (a.name(hlo::InstructionId(i)) != b.name(hlo::InstructionId(i))) return false;
  }
  return true;
}

}  // namespace

hlo::InstructionId Moved(const MovedIds& moved, hlo::InstructionId id) {
  if (moved.empty()) return id;
  return id.index < moved.size() ? moved[id.index] : hlo::InstructionId();
}

StageAgain FindStageAgain(const dump::DumpModel& now, const StageAnchor& place,
                          const hlo::Module& ran) {
  StageAgain again{.place = FindPlace(now, place), .module = nullptr, .moved = {}};
  if (again.place.stage < 0) return {};
  const auto module = now.Module(again.place.module, again.place.stage);
  if (!module) return {};
  again.module = *module;
  if (HasSameNames(ran, **module)) return again;
  std::unordered_map<std::string_view, hlo::InstructionId> named;
  for (uint32_t i = 0; i < again.module->instructions().size(); ++i) {
    named.emplace(again.module->name(hlo::InstructionId(i)), hlo::InstructionId(i));
  }
  again.moved.resize(ran.instructions().size());
  for (uint32_t i = 0; i < ran.instructions().size(); ++i) {
    const auto found = named.find(ran.name(hlo::InstructionId(i)));
    if (found != named.end()) again.moved[i] = found->second;
  }
  return again;
}

}  // namespace hloscope::viewer
