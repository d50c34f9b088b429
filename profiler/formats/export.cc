// What cannot be written, and stacks of events that lie inside one another.
#include "profiler/formats/export.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace hloscope::profiler {

void CountLostParts(const Profile& profile, std::initializer_list<ProfilePart> lost,
                    Losses& losses) {
  const EventStore& store = *profile.store;
  auto count = [&](std::string_view what, const auto& things, auto name) {
    for (const auto& thing : things) losses.Count(what, [&] { return std::string(name(thing)); });
  };
  for (ProfilePart part : lost) {
    switch (part) {
      case ProfilePart::kModules:
        count("modules", profile.modules, [](const EmbeddedModule& m) { return m.name; });
        break;
      case ProfilePart::kEnvironment:
        count("facts of the environment", profile.environment,
              [](const auto& fact) { return fact.first; });
        break;
      case ProfilePart::kMessages:
        for (const auto* texts : {&profile.hosts, &profile.errors, &profile.warnings})
          count("names of hosts, errors and warnings of the profiler", *texts,
                [](const std::string& text) { return text; });
        break;
      case ProfilePart::kFacts:
        for (const Group& group : store.groups())
          count("facts of devices", group.facts, [](const Argument& a) { return a.name; });
        break;
      case ProfilePart::kCounters:
        count("counters", store.counters(), [&](const Counter& c) { return store.text(c.name); });
        break;
      case ProfilePart::kUnits:
        for (const Counter& counter : store.counters()) {
          if (store.text(counter.unit).empty()) continue;
          losses.Count("units of counters", [&] { return std::string(store.text(counter.unit)); });
        }
        break;
    }
  }
}

void CountLostRoles(const EventStore& store, Losses& losses) {
  for (const Lane& lane : store.lanes()) {
    const bool is_device = store.groups()[lane.group].is_device;
    if (RoleOfLine(store.text(lane.name), is_device) == lane.role) continue;
    losses.Count("roles of lanes", [&] { return std::string(store.text(lane.name)); });
  }
}

std::vector<Argument> ArgumentsToWrite(const EventStore& store, EventId e) {
  std::vector<Argument> arguments = store.Arguments(e);
  const OperationId id = store.operation(e);
  if (!id.valid()) return arguments;
  std::erase_if(arguments, [](const Argument& a) {
    return a.name == "hlo_op" || a.name == "hlo_module" || a.name == "program_id";
  });
  const Operation& operation = store.operations()[id.index];
  std::vector<Argument> stated = {{"hlo_op", std::string(store.text(operation.name))}};
  if (operation.module.valid())
    stated.push_back({"hlo_module", std::string(store.text(operation.module))});
  if (operation.program >= 0) stated.push_back({"program_id", operation.program});
  arguments.insert(arguments.begin(), std::make_move_iterator(stated.begin()),
                   std::make_move_iterator(stated.end()));
  return arguments;
}

namespace {

// Numbers by index, and the first index whose number is at least another: a tree whose nodes have
// the largest number below them.
class FirstAtLeast {
 public:
  void Set(size_t index, int64_t value) {
    if (index >= leaves_) Grow(index);
    size_t node = leaves_ + index;
    nodes_[node] = value;
    while ((node /= 2) > 0) nodes_[node] = std::max(nodes_[2 * node], nodes_[2 * node + 1]);
  }
  // Behind the last one if there is none.
  size_t Find(int64_t value) const {
    if (nodes_[1] < value) return leaves_;
    size_t node = 1;
    while (node < leaves_) node = 2 * node + (nodes_[2 * node] < value ? 1 : 0);
    return node - leaves_;
  }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  void Grow(size_t index) {
    const std::vector<int64_t> before(nodes_.begin() + static_cast<ptrdiff_t>(leaves_),
                                      nodes_.end());
    leaves_ = std::bit_ceil(index + 1);
    nodes_.assign(2 * leaves_, kNone);
    std::ranges::copy(before, nodes_.begin() + static_cast<ptrdiff_t>(leaves_));
    for (size_t node = leaves_ - 1; node > 0; --node)
      nodes_[node] = std::max(nodes_[2 * node], nodes_[2 * node + 1]);
  }

  size_t leaves_ = 1;
  std::vector<int64_t> nodes_ = {kNone, kNone};
};

}  // namespace

Stacks::Stacks(const EventStore& store, const Lane& lane) {
  events_.reserve(lane.event_count);
  for (uint32_t i = 0; i < lane.event_count; ++i) {
    events_.push_back({EventId(lane.first_event + i)});
  }
  std::ranges::stable_sort(events_, [&](const Placed& a, const Placed& b) {
    const int64_t start_a = store.start(a.event), start_b = store.start(b.event);
    return start_a != start_b ? start_a < start_b
                              : store.duration(a.event) > store.duration(b.event);
  });
  std::vector<std::vector<int64_t>> open;  // of each stack the ends, the innermost last
  // The end that an event in each stack may have at most.
  FirstAtLeast room;
  using EndOfStack = std::pair<int64_t, uint32_t>;
  std::priority_queue<EndOfStack, std::vector<EndOfStack>, std::greater<>> ends;
  const auto set_room = [&](uint32_t s) {
    room.Set(s, open[s].empty() ? std::numeric_limits<int64_t>::max() : open[s].back());
  };
  for (Placed& placed : events_) {
    const int64_t start = store.start(placed.event), end = store.end(placed.event);
    for (; !ends.empty() && ends.top().first <= start; ends.pop()) {
      const uint32_t s = ends.top().second;
      while (!open[s].empty() && open[s].back() <= start) open[s].pop_back();
      set_room(s);
    }
    const auto s = static_cast<uint32_t>(std::min(room.Find(end), open.size()));
    if (s == open.size()) open.emplace_back();
    open[s].push_back(end);
    set_room(s);
    ends.emplace(end, s);
    placed.stack = s;
  }
  count_ = static_cast<uint32_t>(open.size());
}

}  // namespace hloscope::profiler
