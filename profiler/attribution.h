// Attribution: which instruction of which module the events of a profile belong to, and what each
// took.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/jobs.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/module.h"
#include "profiler/event_store.h"
#include "profiler/profile.h"

namespace hloscope::profiler {

enum class AttributionReason : uint8_t {
#define ATTRIBUTION_REASON(reason, text) reason,
#include "profiler/attribution_reasons.def"
#undef ATTRIBUTION_REASON
  kNone,
};
std::string_view ToString(AttributionReason reason);

// A module whose instructions events may belong to.
struct AttributedModule {
  int64_t program = -1;  // its id in the process that was traced; -1: unknown, its name decides
  std::string name;
  std::shared_ptr<const hlo::Module> module;
  std::vector<std::pair<std::string, hlo::InstructionId>> kernels;  // where a dump knows them
};

struct Target {
  static constexpr uint32_t kNoModule = 0xffffffff;
  uint32_t module = kNoModule;  // index into the modules
  hlo::InstructionId instruction;
  AttributionReason reason = AttributionReason::kNone;
  bool valid() const { return module != kNoModule; }
  friend bool operator==(const Target&, const Target&) = default;
};

// An event called so behind its instruction's name stands for many executions, as recorders write
// what would be too many events: it lasts as long as they took outside other instructions. How many
// they were, and nanoseconds of them with all inside, of the shortest and of the longest, stand in
// its arguments.
inline constexpr std::string_view kSummedSuffix = " (summed)";
inline constexpr std::string_view kExecutionsArgument = "executions";
inline constexpr std::string_view kTotalArgument = "total_ns";
inline constexpr std::string_view kMinArgument = "min_ns";
inline constexpr std::string_view kMaxArgument = "max_ns";

// What one instruction took. `self` leaves out what other instructions took inside its events (the
// body of a while).
struct InstructionTime {
  Target target;
  int64_t count = 0;
  int64_t total = 0, self = 0;  // picoseconds
  int64_t min = 0, max = 0;
  int64_t median = 0, p90 = 0;  // of the executions that have an event of their own
  EventId longest;
};

// One execution of an instruction that has an event of its own.
struct Execution {
  uint32_t time = 0;            // index into times()
  int64_t start = 0, self = 0;  // picoseconds
};

// Time that belongs to no instruction known: events of one name.
struct UnattributedTime {
  NameId name;
  int64_t count = 0, self = 0;
};

// Kernels of command buffers (CUDA graphs), whose events name no instruction.
struct CommandBufferTime {
  int64_t count = 0, self = 0;
};

// Where the time of XLA's execution went, summed over lanes; moments covered by several events of a
// lane count once.
struct AttributionTotals {
  int64_t work = 0;        // inside kernels, thunks and copies: attributed and unattributed
  int64_t attributed = 0;  // of an instruction
  int64_t between = 0;     // inside an executor but outside every instruction: what running costs
  // Of work, 0 to 1; 1 where there is no work.
  double share() const {
    return work == 0 ? 1 : static_cast<double>(attributed) / static_cast<double>(work);
  }
};

class Attribution {
 public:
  // Streams of devices are the work where there are any; else thunks on host threads. kCancelled
  // where `stop` was requested.
  static Result<std::shared_ptr<const Attribution>> Make(std::shared_ptr<const EventStore> store,
                                                         std::vector<AttributedModule> modules,
                                                         Jobs& jobs,
                                                         const std::stop_token& stop = {});

  const EventStore& store() const { return *store_; }
  std::span<const AttributedModule> modules() const { return modules_; }
  // The instruction an event belongs to; invalid where it is none's.
  Target TargetOf(EventId e) const;
  // Longest `self` first.
  std::span<const InstructionTime> times() const { return times_; }
  std::span<const UnattributedTime> unattributed() const { return unattributed_; }
  // The parts of totals().between by the events they are spent in, those that took some.
  std::span<const UnattributedTime> between() const { return between_; }
  const AttributionTotals& totals() const { return totals_; }
  const CommandBufferTime& command_buffers() const { return command_buffers_; }
  // The entry of an instruction in times(), or null.
  const InstructionTime* TimeOf(uint32_t module, hlo::InstructionId instruction) const;
  // Of all instructions, in order of their starts. kCancelled where `stop` was requested.
  Result<std::vector<Execution>> Executions(Jobs& jobs, const std::stop_token& stop = {}) const;
  // Every event of the instruction, in order of lanes, rows and time.
  std::vector<EventId> EventsOf(uint32_t module, hlo::InstructionId instruction) const;

 private:
  Attribution() = default;

  std::shared_ptr<const EventStore> store_;
  std::vector<AttributedModule> modules_;
  std::vector<Target> by_operation_, by_name_;
  std::vector<InstructionTime> times_;
  std::unordered_map<uint64_t, size_t> time_of_;  // by module and instruction, into times_
  std::vector<UnattributedTime> unattributed_, between_;
  AttributionTotals totals_;
  CommandBufferTime command_buffers_;
};

// The modules that the trace itself carries and its events name; what cannot be read is left out
// and said in `warnings`.
std::vector<AttributedModule> ReadEmbeddedModules(const Profile& profile, const Limits& limits,
                                                  std::vector<std::string>& warnings);

// "loop_add_fusion.3" as compilers name the kernel of it: "loop_add_fusion_3".
std::string KernelNameOf(std::string_view instruction);

}  // namespace hloscope::profiler
