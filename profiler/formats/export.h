// What the writers of traces share: losses that every format but our own has, arguments of events.
#pragma once

#include <string_view>
#include <vector>

#include "profiler/formats/losses.h"
#include "profiler/profile.h"

namespace hloscope::profiler {

// Parts of a profile that not every format has a place for.
enum class ProfilePart : uint8_t { kModules, kEnvironment, kMessages, kFacts, kCounters, kUnits };

// Counts the parts that the profile has and that the format cannot hold.
void CountLostParts(const Profile& profile, std::initializer_list<ProfilePart> lost,
                    Losses& losses);

// Counts the lanes whose role is not what RoleOfLine makes of their names.
void CountLostRoles(const EventStore& store, Losses& losses);

// The arguments of an event and, in front of them, what it says of its instruction under the names
// hlo_op, hlo_module and program_id, whether it said so in arguments or not.
std::vector<Argument> ArgumentsToWrite(const EventStore& store, EventId e);

// Of the events of a lane, in order of their starts and longer ones first, the stack each is put
// on, so that on every stack an event lies inside the one before or behind it: what formats need
// whose tracks must not overlap.
class Stacks {
 public:
  explicit Stacks(const EventStore& store, const Lane& lane);
  struct Placed {
    EventId event;
    uint32_t stack = 0;
  };
  const std::vector<Placed>& events() const { return events_; }
  uint32_t count() const { return count_; }

 private:
  std::vector<Placed> events_;
  uint32_t count_ = 0;
};

}  // namespace hloscope::profiler
