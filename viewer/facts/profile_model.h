// ProfileModel: a profile beside the dump that is open, its events tied to the instructions of that
// dump.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/dump/dump_model.h"
#include "profiler/attribution.h"
#include "profiler/profile.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"
#include "viewer/model/selection.h"

namespace hloscope::viewer {

struct ProfileModel {
  std::string path;
  std::shared_ptr<const profiler::Profile> profile;
  std::shared_ptr<const profiler::Attribution> attribution;
  // For each module of the attribution: that of the dump, -1 where it is only in the trace.
  std::vector<int32_t> dump_modules;
  std::vector<std::string> warnings;

  const profiler::EventStore& store() const { return *profile->store; }
  // The instruction of that dump module's final stage that an event belongs to; invalid if none.
  hlo::InstructionId InstructionOf(profiler::EventId event, int32_t& dump_module) const;
  // The module of the attribution that stands for a module of the dump.
  std::optional<uint32_t> ModuleFor(int32_t dump_module) const;
};

// The traces that were opened, else those that lie in the dump; the second is the one to
// compare with where one was chosen.
std::vector<std::string> ProfilePaths(const Context& context);

// The trace number `which` of those, read in the background; null where there are fewer.
const Pending<ProfileModel>* ProfileOf(Context& context, size_t which = 0);

// What clicking an event selects.
Selection SelectionOf(const Context& context, const ProfileModel& model, profiler::EventId event);

}  // namespace hloscope::viewer
