// Where slices begin: stores, other accesses, and what is done in place of a store.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "core/ptx/trace/slice.h"

namespace hloscope::ptx {
namespace {

bool Stores(const Instruction& in) {
  switch (in.operation) {
    case Operation::kSt:
    case Operation::kAtom:
    case Operation::kAtomCas:
    case Operation::kRed:
      return ModifierStateSpace(in) == StateSpace::kGlobal ||
             ModifierStateSpace(in) == StateSpace::kNone;
    default:
      return false;
  }
}

}  // namespace

StepRef StoreTo(const BlockTrace& trace, uint32_t thread, uint32_t argument, uint64_t byte) {
  StepRef found;
  const ThreadTrace* const traced = trace.Find(static_cast<int32_t>(thread));
  if (traced == nullptr) return found;
  for (size_t i = 0; i < traced->steps.size(); ++i) {
    for (const TracedAccess& access : traced->AccessesOf(traced->steps[i])) {
      const bool covers = access.writes && access.space == TracedSpace::kArgument &&
                          access.number == argument && access.offset <= byte &&
                          byte < access.offset + access.bytes;
      if (covers) found = {static_cast<int32_t>(thread), traced->first + static_cast<int64_t>(i)};
    }
  }
  return found;
}

StepRef LastAt(const BlockTrace& trace, uint32_t thread, const Place& place,
               std::optional<TracedSpace> space, std::optional<uint32_t> argument, uint64_t byte) {
  const ThreadTrace* const traced = trace.Find(static_cast<int32_t>(thread));
  StepRef last, touching;
  for (size_t i = 0; traced != nullptr && i < traced->steps.size(); ++i) {
    const TracedStep& step = traced->steps[i];
    const TracedInstruction& in = trace.instructions[step.instruction];
    if (in.line != place.line || in.column != place.column) continue;
    last = {static_cast<int32_t>(thread), traced->first + static_cast<int64_t>(i)};
    for (const TracedAccess& access : traced->AccessesOf(step)) {
      const bool is_there = access.space == space && (!argument || access.number == *argument);
      if (is_there && access.offset <= byte && byte < access.offset + access.bytes) touching = last;
    }
  }
  return touching.step < 0 ? last : touching;
}

std::vector<StepRef> InPlaceOfStore(const BlockTrace& trace, const ControlFlow& flow,
                                    uint32_t thread, uint32_t argument) {
  const ThreadTrace* const traced = trace.Find(static_cast<int32_t>(thread));
  if (traced == nullptr) return {};
  std::map<uint32_t, size_t> last;  // of each instruction
  for (size_t i = 0; i < traced->steps.size(); ++i) last[traced->steps[i].instruction] = i;
  const auto& code = flow.kernel().instructions;
  std::set<int64_t> found;
  for (uint32_t store = 0; store < code.size(); ++store) {
    if (!Stores(code[store])) continue;
    if (const auto at = last.find(store); at != last.end()) {
      const auto accesses = traced->AccessesOf(traced->steps[at->second]);
      const bool is_elsewhere =
          !accesses.empty() && std::ranges::none_of(accesses, [&](const TracedAccess& access) {
            return access.space == TracedSpace::kArgument && access.number == argument;
          });
      if (!is_elsewhere) found.insert(traced->first + static_cast<int64_t>(at->second));
      continue;
    }
    // The nearest branches that it came to.
    std::vector<uint32_t> open(flow.DecidersOf(store).begin(), flow.DecidersOf(store).end());
    std::set<uint32_t> seen(open.begin(), open.end());
    while (!open.empty()) {
      const uint32_t decider = open.back();
      open.pop_back();
      if (const auto at = last.find(decider); at != last.end()) {
        found.insert(traced->first + static_cast<int64_t>(at->second));
        continue;
      }
      for (const uint32_t further : flow.DecidersOf(decider)) {
        if (seen.insert(further).second) open.push_back(further);
      }
    }
  }
  std::vector<StepRef> steps;
  for (const int64_t step : found) steps.push_back({static_cast<int32_t>(thread), step});
  return steps;
}

std::vector<StepRef> BeginsOf(const SliceQuestion& question, const LaunchRequest& launch,
                              const BlockTrace& trace, const ControlFlow& flow) {
  const std::byte* const byte = launch.arguments[question.argument].memory.data() + question.byte;
  std::vector<StepRef> begins;
  StepRef store;
  for (uint32_t i = 0; i < launch.arguments.size(); ++i) {
    const std::span<const std::byte> memory = launch.arguments[i].memory;
    if (byte < memory.data() || byte >= memory.data() + memory.size()) continue;
    if (question.is_missing) {
      std::ranges::copy(InPlaceOfStore(trace, flow, question.thread, i),
                        std::back_inserter(begins));
      continue;
    }
    const auto offset = static_cast<uint64_t>(byte - memory.data());
    const StepRef found = StoreTo(trace, question.thread, i, offset);
    if (found.step > store.step) store = found;
  }
  if (store.step >= 0) begins.push_back(store);
  return begins;
}

}  // namespace hloscope::ptx
