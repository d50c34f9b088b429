// ProfileModel: a profile next to the open dump, its events tied to the instructions of that
// dump.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
  // What ran of the dump: a module in one of its stages, mostly the final one.
  struct Place {
    int32_t module = -1, stage = -1;  // -1: it is only in the trace
    bool operator==(const Place&) const = default;
  };
  std::vector<Place> places;  // for each module of the attribution
  std::vector<std::string> warnings;

  const profiler::EventStore& store() const { return *profile->store; }
  // The module of the attribution that stands for a module of the dump: the first, where several
  // platforms ran it.
  std::optional<uint32_t> ModuleFor(int32_t dump_module) const;
  // That, and the others that ran the same stage.
  std::vector<uint32_t> ModulesFor(int32_t dump_module) const;
  // The module of the dump whose time a target's is; -1: of none, or ModuleFor is another.
  int32_t TimedModule(const profiler::Target& target) const;
  // What ran of a module of the dump; -1: nothing did.
  int32_t StageFor(int32_t dump_module) const;
};

// The traces that were opened, else those that lie in the dump; the second is the one to
// compare with where one was chosen.
std::vector<std::string> ProfilePaths(const Context& context);
// What two files are called beside each other: their names, where those are equal with the folders
// up to the first that differs.
std::pair<std::string, std::string> NamesApart(const std::string& a, const std::string& b);

// The trace number `which` of those, read in the background; null where there are fewer.
const Pending<ProfileModel>* ProfileOf(Context& context, size_t which = 0);

// What clicking an event selects.
Selection SelectionOf(const ProfileModel& model, profiler::EventId event);

}  // namespace hloscope::viewer
