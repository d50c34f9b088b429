// MemoryGroups: what the memory at the peak is for, in the words of the user's program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hlo/module.h"
#include "viewer/facts/memory/memory_plan.h"

namespace hloscope::viewer {

enum class MemoryUse : uint8_t {
#define GROUP(name, title, help) name,
#include "viewer/facts/memory/memory_groups.def"
};
std::string_view TitleOf(MemoryUse use);
std::string_view HelpOf(MemoryUse use);

struct MemoryGroup {
  MemoryUse use = MemoryUse::kTemporaries;
  int64_t bytes = 0;     // at the peak; bytes that several values share count for the largest
  int64_t values = 0;    // that have such bytes
  int32_t largest = -1;  // position in BufferTable::values
  // Arguments by the first word of their name, values by scope or function: bytes, most first.
  // Values of which nothing is known are left out.
  std::vector<std::pair<std::string, int64_t>> words;
};

struct MemoryGroups {
  std::vector<MemoryGroup> groups;  // most bytes first; they add up to `total`
  int64_t total = 0;                // MemoryPlan::peak
};

// What lives at the peak with the instruction that defines it; the bytes add up to the peak.
struct PeakValue {
  int32_t value = -1;              // position in BufferTable::values
  hlo::InstructionId instruction;  // of `module`; invalid: it has none of that name
  int64_t bytes = 0;               // that no larger value has
  // Of what computes it the user's scopes, of an argument the parts of its name; empty: not named.
  std::vector<std::string> scope;
};
std::vector<PeakValue> PeakValuesOf(const dump::BufferTable& table, const MemoryPlan& plan,
                                    const hlo::Module& module);

// `module` is the final stage; null: not readable, then only allocations count.
MemoryGroups GroupsOf(const dump::BufferTable& table, const MemoryPlan& plan,
                      const hlo::Module* module);

}  // namespace hloscope::viewer
