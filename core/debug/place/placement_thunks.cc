// Places by the kinds of thunks that run an instruction.
#include <string_view>
#include <unordered_map>

#include "core/debug/place/placement.h"

namespace hloscope::debug {
namespace {

struct ThunkPlace {
  std::string_view kind;
  Place place;
};
constexpr ThunkPlace kThunkPlaces[] = {
#define THUNK_PLACE(kind, place) {kind, Place::place},
#include "core/debug/place/thunk_places.def"
#undef THUNK_PLACE
};

const ThunkPlace* Find(std::string_view kind) {
  for (const ThunkPlace& row : kThunkPlaces) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

}  // namespace

void TakeThunks(const hlo::Module& module, const dump::ThunkSequence& thunks,
                Placement& placement) {
  // By instruction: the place all its thunks agree on; kUndecided where they do not.
  std::unordered_map<std::string_view, Place> by_name;
  for (const dump::Thunk& thunk : thunks.thunks) {
    if (thunk.instruction.empty()) continue;
    const ThunkPlace* row = Find(thunk.kind);
    Place place = row == nullptr ? Place::kUndecided : row->place;
    auto [at, added] = by_name.try_emplace(thunk.instruction, place);
    if (!added && at->second != place) at->second = Place::kUndecided;
  }
  for (uint32_t id = 0; id < placement.instructions.size(); ++id) {
    PlacedInstruction& placed = placement.instructions[id];
    if (placed.place != Place::kDeviceKernel) continue;
    auto at = by_name.find(module.name(hlo::InstructionId(id)));
    if (at == by_name.end() || at->second == Place::kUndecided) continue;
    --placement.counts[static_cast<size_t>(placed.place)];
    placed.place = at->second;
    ++placement.counts[static_cast<size_t>(placed.place)];
  }
}

}  // namespace hloscope::debug
