#include "core/ptx/checks/causes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/ptx/ir/accesses.h"

namespace hloscope::ptx {
namespace {

constexpr size_t kMaxCauses = 10;

// A missing barrier behind instruction `first` and before `last` orders the two accesses.
using Gap = BarrierGap;

struct Cause {
  std::vector<size_t> findings;  // the first is reported
  std::optional<Gap> gap;        // where a barrier orders all of them
  std::optional<uint32_t> load;  // of a store that races with itself: what it updates is read there
};

// Whether the instruction at `store` writes what is computed from what `load`, before it, reads.
bool Updates(const Kernel& kernel, uint32_t load, uint32_t store) {
  const auto slots_of = [&](const Instruction& in) {
    return std::span(kernel.slots).subspan(in.first_slot, in.slot_count);
  };
  std::set<uint32_t> needed;
  const Instruction& last = kernel.instructions[store];
  const AccessList accesses = AccessesOf(last);
  const auto slots = slots_of(last);
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const bool is_address =
        std::ranges::any_of(accesses, [&](const Access& access) { return access.operand == i; });
    if (!is_address) needed.insert(slots[i].offset);
  }
  for (uint32_t pc = store; pc-- > load;) {
    const auto own = slots_of(kernel.instructions[pc]);
    const bool gives = std::ranges::any_of(
        own, [&](const Slot& slot) { return slot.written && needed.contains(slot.offset); });
    if (gives && pc == load) return true;
    for (const Slot& slot : own)
      if (gives && !slot.written) needed.insert(slot.offset);
  }
  return false;
}

// A store that races with itself where no barrier orders it, and the loads of what it updates: one
// cause, which is reported as the store's.
std::vector<Cause> LostUpdates(const std::vector<Finding>& findings, const Kernel& kernel,
                               std::vector<bool>& grouped) {
  std::vector<Cause> causes;
  for (size_t i = 0; i < findings.size(); ++i) {
    const Finding& store = findings[i];
    if (store.kind != FindingKind::kRace || store.gap || store.at.pc != store.other->pc) continue;
    Cause cause{{i}, {}, {}};
    for (size_t k = 0; k < findings.size(); ++k) {
      const Finding& other = findings[k];
      if (other.kind != FindingKind::kRace || other.memory != store.memory) continue;
      const auto [load, last] = std::minmax(other.at.pc, other.other->pc);
      if (last != store.at.pc || load == last || !Updates(kernel, load, last)) continue;
      cause.findings.push_back(k);
      cause.load = load;
    }
    if (!cause.load) continue;
    for (const size_t k : cause.findings) grouped[k] = true;
    causes.push_back(std::move(cause));
  }
  return causes;
}

// Gaps that one barrier closes: the fewest points that each gap has one of. Always the nearest end
// of a gap that has none yet.
std::vector<Cause> MissingBarriers(const std::vector<Finding>& findings, std::vector<size_t> of) {
  std::ranges::sort(of, {}, [&](size_t i) { return findings[i].gap->last; });
  std::vector<Cause> causes;
  for (const size_t i : of) {
    const Gap& gap = *findings[i].gap;
    if (causes.empty() || gap.first >= causes.back().gap->last) {
      causes.push_back({{i}, gap, {}});
      continue;
    }
    causes.back().findings.push_back(i);
    causes.back().gap->first = std::max(causes.back().gap->first, gap.first);
  }
  return causes;
}

// Those that alike accesses of one memory make.
bool IsAlike(const Finding& a, const Finding& b) {
  return a.kind == b.kind && a.memory == b.memory && a.what == b.what;
}

using At = std::pair<uint32_t, uint32_t>;  // line, column

At AtOf(const FindingSide& side) { return {side.place.line, side.place.column}; }

// Instructions, or pairs of them whichever came first.
size_t CountPlaces(const std::vector<Finding>& findings, const Cause& cause) {
  std::set<std::pair<At, At>> places;
  for (const size_t i : cause.findings) {
    const At at = AtOf(findings[i].at), other = findings[i].other ? AtOf(*findings[i].other) : at;
    places.insert(std::minmax(at, other));
  }
  return places.size();
}

std::string Described(const Cause& cause, size_t places, const Kernel& kernel, bool is_race) {
  if (places == 1) return "";
  const std::string others = std::to_string(places - 1);
  std::string text =
      " (so do " + others + " more " + (is_race ? "pairs of instructions" : "instructions");
  if (places == 2) text = is_race ? " (so does 1 more pair of instructions" : " (so does 1 more";
  if (cause.gap) {
    const auto line = [&](uint32_t pc) {
      return std::to_string(kernel.instructions[pc].position.line);
    };
    text += ": a barrier between lines " + line(cause.gap->first) + " and " +
            line(cause.gap->last) + " orders them all";
  }
  if (cause.load) {
    text += ": it updates what line " +
            std::to_string(kernel.instructions[*cause.load].position.line) +
            " reads, and not atomically";
  }
  return text + ")";
}

}  // namespace

std::vector<Finding> GroupedByCause(std::vector<Finding> findings, const Kernel& kernel) {
  std::vector<size_t> gaps;
  std::vector<bool> is_grouped(findings.size());
  std::vector<Cause> causes = LostUpdates(findings, kernel, is_grouped);
  for (size_t i = 0; i < findings.size(); ++i) {
    if (is_grouped[i]) continue;
    if (findings[i].gap) {
      gaps.push_back(i);
      continue;
    }
    const auto alike = std::ranges::find_if(causes, [&](const Cause& cause) {
      return IsAlike(findings[cause.findings.front()], findings[i]);
    });
    if (alike != causes.end()) {
      alike->findings.push_back(i);
    } else {
      causes.push_back({{i}, {}, {}});
    }
  }
  for (Cause& cause : MissingBarriers(findings, std::move(gaps))) {
    std::ranges::sort(cause.findings);
    causes.push_back(std::move(cause));
  }
  std::ranges::sort(causes, {},
                    [](const Cause& cause) { return std::ranges::min(cause.findings); });
  std::vector<Finding> grouped;
  for (const Cause& cause : causes) {
    if (grouped.size() == kMaxCauses) {
      grouped.back().what +=
          " (" + std::to_string(causes.size() - kMaxCauses) + " more causes follow)";
      break;
    }
    const size_t places = CountPlaces(findings, cause);
    Finding& first = grouped.emplace_back(std::move(findings[cause.findings.front()]));
    for (size_t i = 1; i < cause.findings.size(); ++i)
      first.count += findings[cause.findings[i]].count;
    first.what += Described(cause, places, kernel, first.kind == FindingKind::kRace);
  }
  return grouped;
}

}  // namespace hloscope::ptx
