// Instructions of two traces by their names.
#include "viewer/facts/trace_partners.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/graph/count_text.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

using profiler::Attribution;
using profiler::EventId;
using profiler::Target;
using Partners = std::vector<std::vector<Target>>;

Partners EmptyPartners(const Attribution& attribution) {
  Partners out;
  for (const profiler::AttributedModule& m : attribution.modules())
    out.emplace_back(m.module->instructions().size());
  return out;
}

// The first module of each name stands for all of that name.
void Pair(const Attribution& first, const Attribution& second, TracePartners& out) {
  std::unordered_map<std::string_view, uint32_t> modules;
  for (uint32_t m = 0; m < second.modules().size(); ++m)
    modules.try_emplace(second.modules()[m].name, m);
  for (uint32_t m = 0; m < first.modules().size(); ++m) {
    const auto other = modules.find(first.modules()[m].name);
    if (other == modules.end()) continue;
    const hlo::Module& a = *first.modules()[m].module;
    const hlo::Module& b = *second.modules()[other->second].module;
    std::unordered_map<std::string_view, uint32_t> names;
    for (uint32_t i = 0; i < b.instructions().size(); ++i)
      names.try_emplace(b.name(hlo::InstructionId(i)), i);
    for (uint32_t i = 0; i < a.instructions().size(); ++i) {
      const auto found = names.find(a.name(hlo::InstructionId(i)));
      if (found == names.end()) continue;
      out.of_first[m][i] = {.module = other->second,
                            .instruction = hlo::InstructionId(found->second)};
      Target& back = out.of_second[other->second][found->second];
      if (!back.valid()) back = {.module = m, .instruction = hlo::InstructionId(i)};
    }
  }
}

// Names of what took time and has no partner that took any.
std::vector<std::string> Alone(const Attribution& own, const Attribution& other,
                               const Partners& partners) {
  std::vector<std::string> names;
  for (const profiler::InstructionTime& time : own.times()) {
    const Target& partner = partners[time.target.module][time.target.instruction.index];
    if (partner.valid() && other.TimeOf(partner.module, partner.instruction) != nullptr) continue;
    names.emplace_back(own.modules()[time.target.module].module->name(time.target.instruction));
  }
  return names;
}

std::optional<int64_t> FirstWork(const Attribution& attribution, const Partners& partners) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (uint32_t k = 0; k < attribution.store().size(); ++k) {
    const EventId e(k);
    const int64_t start = attribution.store().start(e);
    if (start >= first) continue;
    const Target target = attribution.TargetOf(e);
    if (target.valid() && partners[target.module][target.instruction.index].valid()) first = start;
  }
  return first == std::numeric_limits<int64_t>::max() ? std::nullopt : std::optional(first);
}

struct PartnersKey {
  using Value = TracePartners;
  std::string first_path, second_path;
  const ProfileModel* first = nullptr;
  const ProfileModel* second = nullptr;
  auto operator<=>(const PartnersKey&) const = default;
};

}  // namespace

Target TracePartners::PartnerOf(bool is_second, const Target& target) const {
  if (!target.valid()) return {};
  return (is_second ? of_second : of_first)[target.module][target.instruction.index];
}

std::string TracePartners::MissingText(bool swapped) const {
  const auto& before = swapped ? only_second : only_first;
  const auto& after = swapped ? only_first : only_second;
  std::string out;
  if (!before.empty()) out = graph::CountedText(before.size(), "instruction") + " only before";
  if (!after.empty()) {
    out += out.empty() ? graph::CountedText(after.size(), "instruction")
                       : ", " + std::to_string(after.size());
    out += " only after";
  }
  return out;
}

std::string TracePartners::MissingNames(bool swapped) const {
  std::string out;
  constexpr size_t kMax = 12;
  const auto add = [&](std::string_view title, const std::vector<std::string>& names) {
    if (names.empty()) return;
    out += fmt::format("{}{}:", out.empty() ? "" : "\n", title);
    for (size_t k = 0; k < std::min(names.size(), kMax); ++k) out += "\n  " + names[k];
    if (names.size() > kMax) out += fmt::format("\n  and {} more", names.size() - kMax);
  };
  add("only before", swapped ? only_second : only_first);
  add("only after", swapped ? only_first : only_second);
  return out;
}

TracePartners FindTracePartners(const ProfileModel& first, const TimelineFacts& first_facts,
                                const ProfileModel& second, const TimelineFacts& second_facts) {
  TracePartners out;
  const Attribution& a = *first.attribution;
  const Attribution& b = *second.attribution;
  out.of_first = EmptyPartners(a);
  out.of_second = EmptyPartners(b);
  Pair(a, b, out);
  out.only_first = Alone(a, b, out.of_first);
  out.only_second = Alone(b, a, out.of_second);
  const auto work_a = FirstWork(a, out.of_first), work_b = FirstWork(b, out.of_second);
  const bool has_steps = !first_facts.steps.empty() && !second_facts.steps.empty() &&
                         first_facts.step_word == second_facts.step_word &&
                         first_facts.are_marked == second_facts.are_marked;
  if (has_steps) {
    out.shift = first_facts.steps.front().begin - second_facts.steps.front().begin;
    out.aligned_by = "by their first " + first_facts.step_word;
  } else if (work_a && work_b) {
    out.shift = *work_a - *work_b;
    out.aligned_by = "by their first instruction";
  } else {
    out.shift = first.store().range().begin - second.store().range().begin;
    out.aligned_by = "by their first event (no common step or instruction)";
  }
  return out;
}

SecondTrace SecondTraceOf(Context& context, const std::shared_ptr<const ProfileModel>& first) {
  SecondTrace out;
  const Pending<ProfileModel>* second = ProfileOf(context, 1);
  if (second == nullptr) return out;
  if (second->failed()) out.problem = second->error.ToString();
  if (!second->ready()) return out;
  if ((*second)->store().size() == 0) {
    out.problem = "it has no events";
    return out;
  }
  const Pending<TimelineFacts>& first_facts = TimelineFactsOf(context, first);
  const Pending<TimelineFacts>& facts = TimelineFactsOf(context, second->value);
  if (!first_facts.ready() || !facts.ready()) return out;
  const Pending<TracePartners>& partners =
      context.cache.Get(PartnersKey{first->path, (*second)->path, first.get(), second->value.get()},
                        "comparing two traces",
                        [first, second = second->value, first_facts = first_facts.value,
                         facts = facts.value](TaskControl&) -> Computed<TracePartners> {
                          return std::make_shared<const TracePartners>(
                              FindTracePartners(*first, *first_facts, *second, *facts));
                        });
  if (!partners.ready()) return out;
  out.model = second->value;
  out.facts = facts.value;
  out.partners = partners.value;
  return out;
}

}  // namespace hloscope::viewer
