#include "core/debug/explain/passes/separated_pair.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/find_instruction.h"

namespace hloscope::debug {
namespace {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::SeparatedModule;

// "step~12" as "step", wherever a text names a computation; nothing else has a `~` behind a `%`
// and a name.
std::string WithoutNumbers(std::string_view text) {
  std::string out;
  bool is_name = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '~' && is_name) {
      while (i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9') ++i;
      is_name = false;
      continue;
    }
    const bool goes_on = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    is_name = c == '%' || (is_name && goes_on);
    out += c;
  }
  return out;
}

std::string_view NameOf(const Module& module, ComputationId id) { return module[module[id].name]; }

// The calls of what several had, outermost first.
std::vector<std::string_view> SharedCallsOf(const SeparatedModule& separated, ComputationId home) {
  const Module& module = *separated.module;
  std::vector<std::string_view> calls;
  for (size_t steps = 0; steps < module.computations().size(); ++steps) {
    const InstructionId caller = hlo::CallGraphOf(module).OnlyCaller(home);
    if (!caller.valid()) break;
    const bool was_shared = separated.was_shared[separated.original[home.index].index];
    if (was_shared) calls.push_back(module.name(caller));
    home = module[caller].computation;
  }
  std::ranges::reverse(calls);
  return calls;
}

}  // namespace

SeparatedPair::SeparatedPair(const std::shared_ptr<const Module>& before,
                             const std::shared_ptr<const Module>& after)
    : before_(hlo::SeparateCalls(before)),
      after_(hlo::SeparateCalls(after)),
      is_before_changed_(before_.module != before),
      is_after_changed_(after_.module != after) {}

std::string SeparatedPair::Left() const {
  if (before_.is_whole && after_.is_whole) return {};
  return "some computations that are called several times are not compared call by call, since "
         "copies of them would be too many: what differs in one call alone may not be found";
}

void SeparatedPair::Restore(DivergePlace& place) const {
  if (!is_changed()) return;
  for (const SeparatedModule* separated : {&after_, &before_}) {
    const Module& module = *separated->module;
    const InstructionId id =
        hlo::FindInstruction(module, place.computation + ":" + place.instruction);
    if (!id.valid()) continue;
    const ComputationId home = module[id].computation;
    place.computation = NameOf(module, separated->original[home.index]);
    const std::vector<std::string_view> calls = SharedCallsOf(*separated, home);
    if (calls.empty()) return;
    const std::string called = fmt::format("called by {}", fmt::join(calls, ", "));
    place.calls = place.calls.empty() ? called : called + ", " + place.calls;
    return;
  }
}

void SeparatedPair::Restore(InstructionEdit& edit) const {
  if (!is_changed()) return;
  for (std::string* text : {&edit.before, &edit.after, &edit.diff}) *text = WithoutNumbers(*text);
}

}  // namespace hloscope::debug
