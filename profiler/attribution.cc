// Times of instructions: each moment of a lane belongs to the innermost event of work that covers
// it.
#include "profiler/attribution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/base/memory_limit.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/text/text.h"
#include "profiler/operation_targets.h"
#include "profiler/saturating_add.h"

namespace hloscope::profiler {
namespace {

// An event that is work, or an executor around it, and what of its time no event inside takes.
struct Piece {
  EventId event;
  int64_t self = 0;
  bool is_executor = false;
  bool joins_instruction = false;  // an executor whose time inside an instruction is its own
};

struct ExecutorName {
  NameId name;
  bool joins_instruction;
};

std::vector<ExecutorName> ExecutorNames(const EventStore& store) {
  std::vector<ExecutorName> names;
#define EXECUTOR_EVENT(text, joins, waits) \
  if (NameId id = store.FindName(text); id.valid()) names.push_back({id, joins});
#include "profiler/executor_events.def"
#undef EXECUTOR_EVENT
  return names;
}

bool HasRole(const EventStore& store, const Group& group, LaneRole role) {
  return std::ranges::any_of(group.lanes, [&](LaneId l) {
    return store.lanes()[l.index].role == role && store.lanes()[l.index].event_count > 0;
  });
}

enum class LaneWork : uint8_t { kNone, kEverything, kOperations };

// Which lanes hold work: streams of devices; the operations line of devices that have none; host
// threads where no device has work.
std::vector<LaneWork> WorkOfLanes(const EventStore& store) {
  std::vector<LaneWork> work(store.lanes().size(), LaneWork::kNone);
  bool devices_work = false;
  for (const Group& group : store.groups()) {
    if (!group.is_device) continue;
    const LaneRole role =
        HasRole(store, group, LaneRole::kStream) ? LaneRole::kStream : LaneRole::kOperations;
    for (LaneId lane : group.lanes) {
      if (store.lanes()[lane.index].role != role) continue;
      work[lane.index] = LaneWork::kEverything;
      devices_work |= store.lanes()[lane.index].event_count > 0;
    }
  }
  if (devices_work) return work;
  for (size_t l = 0; l < work.size(); ++l) {
    if (store.lanes()[l].role == LaneRole::kThread) work[l] = LaneWork::kOperations;
  }
  return work;
}

std::vector<Piece> PiecesOf(const EventStore& store, const Lane& lane, LaneWork work,
                            const std::vector<ExecutorName>& executors) {
  std::vector<Piece> pieces;
  for (uint32_t i = lane.first_event; i < lane.first_event + lane.event_count; ++i) {
    const EventId e(i);
    const bool is_work = work == LaneWork::kEverything || store.operation(e).valid();
    if (is_work) {
      pieces.push_back({.event = e, .self = store.duration(e)});
      continue;
    }
    const auto executor = std::ranges::find(executors, store.name(e), &ExecutorName::name);
    if (executor == executors.end()) continue;
    pieces.push_back({e, store.duration(e), true, executor->joins_instruction});
  }
  std::ranges::stable_sort(pieces, [&](const Piece& a, const Piece& b) {
    const int64_t start_a = store.start(a.event), start_b = store.start(b.event);
    return start_a != start_b ? start_a < start_b
                              : store.duration(a.event) > store.duration(b.event);
  });
  return pieces;
}

// Takes from every event the time that events begun inside it cover.
void SubtractInner(const EventStore& store, std::vector<Piece>& pieces) {
  std::vector<Piece*> open;  // those whose time is not over, the innermost last
  for (Piece& piece : pieces) {
    int64_t time = store.start(piece.event);
    const int64_t end = store.end(piece.event);
    while (!open.empty() && store.end(open.back()->event) <= time) open.pop_back();
    if (piece.joins_instruction && std::ranges::any_of(open, [&](const Piece* p) {
          return !p->is_executor && store.end(p->event) > time;
        })) {
      piece.self = 0;
      continue;
    }
    while (!open.empty() && time < end) {
      const int64_t other_end = store.end(open.back()->event);
      const int64_t covered = std::min(end, other_end) - time;
      open.back()->self -= covered;
      time += covered;
      if (other_end > end) break;
      open.pop_back();
    }
    open.push_back(&piece);
  }
}

// Of each lane, with what of their time is their own.
Result<std::vector<std::vector<Piece>>> PiecesOf(const EventStore& store, Jobs& jobs,
                                                 const std::stop_token& stop) {
  const std::vector<ExecutorName> executors = ExecutorNames(store);
  const std::vector<LaneWork> work = WorkOfLanes(store);
  std::vector<std::vector<Piece>> pieces(work.size());
  HLOSCOPE_TRY(jobs.ParallelFor(
      static_cast<int64_t>(work.size()),
      [&](int64_t lane) {
        const size_t l = static_cast<size_t>(lane);
        if (work[l] == LaneWork::kNone) return;
        pieces[l] = PiecesOf(store, store.lanes()[l], work[l], executors);
        SubtractInner(store, pieces[l]);
      },
      stop));
  return pieces;
}

struct TargetLess {
  bool operator()(const Target& a, const Target& b) const {
    return a.module != b.module ? a.module < b.module : a.instruction < b.instruction;
  }
};

uint64_t KeyOf(uint32_t module, hlo::InstructionId instruction) {
  return uint64_t{module} << 32 | instruction.index;
}

// What an event stands for: itself, or many executions.
struct Executions {
  int64_t count = 1, total = 0, min = 0, max = 0;
};
Executions ExecutionsOf(const EventStore& store, EventId e) {
  const int64_t duration = store.duration(e);
  Executions executions{1, duration, duration, duration};
  if (!store.text(store.name(e)).ends_with(kSummedSuffix)) return executions;
  for (const Argument& argument : store.Arguments(e)) {
    const double stated = NumberOf(argument).value_or(0);
    if (!(stated >= 1 && stated <= static_cast<double>(kLongestTime / 1000))) continue;
    const auto number = static_cast<int64_t>(stated);
    if (argument.name == kExecutionsArgument) executions.count = number;
    if (argument.name == kTotalArgument) executions.total = number * 1000;
    if (argument.name == kMinArgument) executions.min = number * 1000;
    if (argument.name == kMaxArgument) executions.max = number * 1000;
  }
  return executions;
}

struct TimeOfTarget {
  InstructionTime time;
  std::vector<int64_t> durations;  // of events that stand for themselves
};

void AddTime(TimeOfTarget& target, const EventStore& store, const Piece& piece) {
  InstructionTime& time = target.time;
  const Executions told = ExecutionsOf(store, piece.event);
  if (told.count == 1) target.durations.push_back(told.total);
  time.min = time.count == 0 ? told.min : std::min(time.min, told.min);
  if (time.count == 0 || told.max > time.max) {
    time.max = told.max;
    time.longest = piece.event;
  }
  time.count = SaturatingAdd(time.count, told.count);
  time.total = SaturatingAdd(time.total, told.total);
  time.self = SaturatingAdd(time.self, piece.self);
}

// The duration that `share` of them do not exceed (nearest rank).
int64_t Percentile(std::vector<int64_t>& durations, double share) {
  if (durations.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(durations.size()));
  const auto at = durations.begin() + static_cast<int64_t>(std::max(rank, 1.0)) - 1;
  std::ranges::nth_element(durations, at);
  return *at;
}

// Whether the event is a kernel of a command buffer: the graph is named by its operation, or by an
// argument, `cuda_graph_id` or of its kind.
bool IsOfCommandBuffer(const EventStore& store, EventId e) {
  if (const OperationId operation = store.operation(e); operation.valid())
    return store.text(store.operations()[operation.index].name).starts_with("command_buffer");
  return std::ranges::any_of(store.Arguments(e), [](const Argument& argument) {
    return argument.name.find("graph") != std::string_view::npos &&
           argument.name.ends_with("_id") && NumberOf(argument).value_or(0) != 0;
  });
}

// The kernels that no name ties to an instruction, as conclusions from what the modules hold.
void ConcludeLibraryCalls(const EventStore& store, const std::vector<std::vector<Piece>>& pieces,
                          const OperationTargets& targets, const std::vector<Target>& by_operation,
                          std::vector<Target>& by_name) {
  std::set<Target, TargetLess> taken;
  std::set<NameId> open;
  for (const std::vector<Piece>& lane : pieces) {
    for (const Piece& piece : lane) {
      if (piece.is_executor) continue;
      const OperationId operation = store.operation(piece.event);
      const NameId name = store.name(piece.event);
      if (operation.valid() && by_operation[operation.index].valid()) {
        taken.insert(by_operation[operation.index]);
      } else if (by_name[name.index].valid()) {
        taken.insert(by_name[name.index]);
      } else {
        open.insert(name);
      }
    }
  }
  for (const NameId name : open) {
    by_name[name.index] = targets.OnlyLibraryCall(
        store.text(name), [&](const Target& place) { return !taken.contains(place); });
  }
}

Result<std::shared_ptr<const hlo::Module>> ReadModule(const EmbeddedModule& embedded,
                                                      const Limits& limits) {
  if (embedded.hlo_proto.empty()) {
    hlo::ParseResult parsed = hlo::ParseText(embedded.hlo_text, limits);
    if (parsed.ok()) return parsed.module;
    return InputError("its text is not an HLO module");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::ProtoFile read,
                            hlo::ReadProto(std::as_bytes(std::span(embedded.hlo_proto)), limits));
  if (read.module == nullptr) return InputError("its HloProto holds no module");
  return read.module;
}

Result<std::shared_ptr<const hlo::Module>> ModuleOf(const EmbeddedModule& embedded,
                                                    const Limits& limits) {
  return WithinMemory(limits, "", [&] { return ReadModule(embedded, limits); });
}

// Whether a stream has an event that names no operation.
bool HasNamelessKernels(const EventStore& store) {
  return std::ranges::any_of(store.lanes(), [&](const Lane& lane) {
    if (lane.role != LaneRole::kStream) return false;
    for (uint32_t i = lane.first_event; i < lane.first_event + lane.event_count; ++i) {
      if (!store.operation(EventId(i)).valid()) return true;
    }
    return false;
  });
}

}  // namespace

std::string_view ToString(AttributionReason reason) {
  switch (reason) {
#define ATTRIBUTION_REASON(name, text) \
  case AttributionReason::name:        \
    return text;
#include "profiler/attribution_reasons.def"
#undef ATTRIBUTION_REASON
    case AttributionReason::kNone:
      break;
  }
  return "no instruction";
}

Target Attribution::TargetOf(EventId e) const {
  const OperationId operation = store_->operation(e);
  if (operation.valid() && by_operation_[operation.index].valid()) {
    return by_operation_[operation.index];
  }
  return by_name_[store_->name(e).index];
}

Result<std::shared_ptr<const Attribution>> Attribution::Make(
    std::shared_ptr<const EventStore> store, std::vector<AttributedModule> modules, Jobs& jobs,
    const std::stop_token& stop) {
  auto result = std::shared_ptr<Attribution>(new Attribution);
  result->store_ = std::move(store);
  result->modules_ = std::move(modules);
  const EventStore& events = *result->store_;
  const OperationTargets targets(result->modules_);
  for (const Operation& o : events.operations()) {
    result->by_operation_.push_back(
        targets.OfOperation(events.text(o.module), events.text(o.name), o.program));
  }
  for (size_t n = 0; n < events.name_count(); ++n) {
    result->by_name_.push_back(targets.OfName(events.text(NameId(n))));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto pieces, PiecesOf(events, jobs, stop));
  ConcludeLibraryCalls(events, pieces, targets, result->by_operation_, result->by_name_);
  std::map<Target, TimeOfTarget, TargetLess> times;
  std::map<std::pair<NameId, uint32_t>, bool> of_command_buffer;  // by name and operation
  const auto count_command_buffer = [&](const Piece& piece) {
    const OperationId operation = events.operation(piece.event);
    if (operation.valid() && result->by_operation_[operation.index].valid()) return;
    const std::pair key(events.name(piece.event), operation.index);
    const auto [known, is_new] = of_command_buffer.try_emplace(key);
    if (is_new) known->second = IsOfCommandBuffer(events, piece.event);
    if (!known->second) return;
    ++result->command_buffers_.count;
    result->command_buffers_.self += piece.self;
  };
  std::map<NameId, UnattributedTime> unknown, between;
  const auto add = [&](std::map<NameId, UnattributedTime>& to, const Piece& piece) {
    UnattributedTime& time = to[events.name(piece.event)];
    time.name = events.name(piece.event);
    time.self += piece.self;
    ++time.count;
  };
  for (const std::vector<Piece>& lane : pieces) {
    for (const Piece& piece : lane) {
      if (piece.is_executor) {
        result->totals_.between += piece.self;
        if (piece.self > 0) add(between, piece);
        continue;
      }
      result->totals_.work += piece.self;
      count_command_buffer(piece);
      const Target target = result->TargetOf(piece.event);
      if (target.valid()) {
        TimeOfTarget& time = times[target];
        time.time.target = target;
        AddTime(time, events, piece);
        result->totals_.attributed += piece.self;
        continue;
      }
      add(unknown, piece);
    }
  }
  for (auto& [target, time] : times) {
    time.time.median = Percentile(time.durations, 0.5);
    time.time.p90 = Percentile(time.durations, 0.9);
    result->times_.push_back(time.time);
  }
  for (auto& [name, time] : unknown) result->unattributed_.push_back(time);
  for (auto& [name, time] : between) result->between_.push_back(time);
  std::ranges::stable_sort(result->times_, std::greater<>(), &InstructionTime::self);
  for (auto* list : {&result->unattributed_, &result->between_}) {
    std::ranges::stable_sort(*list, std::greater<>(), &UnattributedTime::self);
  }
  for (size_t k = 0; k < result->times_.size(); ++k) {
    const Target& target = result->times_[k].target;
    result->time_of_.emplace(KeyOf(target.module, target.instruction), k);
  }
  return std::shared_ptr<const Attribution>(std::move(result));
}

const InstructionTime* Attribution::TimeOf(uint32_t module, hlo::InstructionId instruction) const {
  auto found = time_of_.find(KeyOf(module, instruction));
  return found == time_of_.end() ? nullptr : &times_[found->second];
}

Result<std::vector<Execution>> Attribution::Executions(Jobs& jobs,
                                                       const std::stop_token& stop) const {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto pieces, PiecesOf(*store_, jobs, stop));
  std::vector<Execution> executions;
  for (const std::vector<Piece>& lane : pieces) {
    for (const Piece& piece : lane) {
      const Target target = piece.is_executor ? Target() : TargetOf(piece.event);
      const auto time =
          target.valid() ? time_of_.find(KeyOf(target.module, target.instruction)) : time_of_.end();
      if (time == time_of_.end()) continue;
      if (store_->text(store_->name(piece.event)).ends_with(kSummedSuffix)) continue;
      executions.push_back(
          {static_cast<uint32_t>(time->second), store_->start(piece.event), piece.self});
    }
  }
  std::ranges::stable_sort(executions, {}, &Execution::start);
  return executions;
}

std::vector<EventId> Attribution::EventsOf(uint32_t module, hlo::InstructionId instruction) const {
  std::vector<EventId> events;
  for (uint32_t i = 0; i < store_->size(); ++i) {
    const Target target = TargetOf(EventId(i));
    if (target.module == module && target.instruction == instruction) events.emplace_back(i);
  }
  return events;
}

std::vector<AttributedModule> ReadEmbeddedModules(const Profile& profile, const Limits& limits,
                                                  std::vector<std::string>& warnings) {
  std::set<int64_t> named;
  for (const Operation& o : profile.store->operations()) named.insert(o.program);
  // Kernels of command buffers name none: their own names tell.
  if (HasNamelessKernels(*profile.store)) named.insert(-1);
  std::vector<AttributedModule> modules;
  // A trace of several hosts has the program once for each.
  std::set<std::tuple<int64_t, std::string_view, std::string_view>> met;
  for (const EmbeddedModule& embedded : profile.modules) {
    // Most programs of a trace only prepare the data; those whose events name them are read.
    if (!named.contains(embedded.program) && !named.contains(-1)) continue;
    if (embedded.hlo_proto.empty() && embedded.hlo_text.empty()) continue;
    if (!met.emplace(embedded.program, embedded.hlo_proto, embedded.hlo_text).second) continue;
    auto module = ModuleOf(embedded, limits);
    if (!module) {
      warnings.push_back("the module " + embedded.name +
                         " in the trace cannot be read: " + module.error().message);
      continue;
    }
    modules.push_back({embedded.program, std::string((*module)->name()), *module, {}});
  }
  return modules;
}

}  // namespace hloscope::profiler
