// Sorting of what lives at the peak into groups.
#include "viewer/facts/memory/memory_groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "viewer/facts/memory/scope_words.h"

namespace hloscope::viewer {
namespace {

enum class UseEvidence : uint8_t { kNamePart, kTwin, kTwins, kOperation };
struct UseRule {
  MemoryUse use;
  UseEvidence evidence;
  std::string_view word;
};
constexpr UseRule kUseRules[] = {
#define RULE(group, evidence, word) {MemoryUse::group, UseEvidence::evidence, word},
#include "viewer/facts/memory/memory_groups.def"
};

// An instruction's own op_name and its source location.
const hlo::OpMetadata* MetadataOf(const hlo::Module& module, hlo::InstructionId id) {
  const auto* metadata = module.Get<hlo::OpMetadata>(module[id], hlo::AttributeKey::kMetadata);
  return metadata != nullptr && metadata->op_name.valid() && !module[metadata->op_name].empty()
             ? metadata
             : nullptr;
}

bool PassesOn(hlo::Opcode opcode) {
  return opcode == hlo::Opcode::kBitcast || opcode == hlo::Opcode::kCopy ||
         opcode == hlo::Opcode::kGetTupleElement || opcode == hlo::Opcode::kTuple ||
         opcode == hlo::Opcode::kCopyStart || opcode == hlo::Opcode::kCopyDone;
}

// What the instructions of one module are for.
class UseFinder {
 public:
  explicit UseFinder(const hlo::Module& module)
      : module_(module), users_(module), parameters_(module.Parameters(module.entry_id())) {
    for (uint32_t i = 0; i < module.instructions().size(); ++i)
      by_name_.emplace(module.name(hlo::InstructionId(i)), i);
    for (hlo::InstructionId id : parameters_) {
      const std::string_view name = NameOf(id);
      const auto parts = NameParts(name);
      if (parts.size() > 1) ++rests_[RestOf(name, id)];
    }
  }

  hlo::InstructionId ByName(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? hlo::InstructionId() : hlo::InstructionId(found->second);
  }
  hlo::InstructionId Parameter(int64_t number) const {
    return number >= 0 && static_cast<size_t>(number) < parameters_.size()
               ? parameters_[static_cast<size_t>(number)]
               : hlo::InstructionId();
  }

  MemoryUse UseOfParameter(hlo::InstructionId id) const {
    const std::string_view name = NameOf(id);
    const auto parts = NameParts(name);
    for (const UseRule& rule : kUseRules) {
      const bool is_part = rule.evidence == UseEvidence::kNamePart &&
                           std::ranges::find(parts, rule.word) != parts.end();
      const int others = rule.evidence == UseEvidence::kTwin    ? 1
                         : rule.evidence == UseEvidence::kTwins ? 2
                                                                : 0;
      const bool is_twin = others > 0 && parts.size() > 1 && parts.front() == rule.word &&
                           rests_.at(RestOf(name, id)) > others;
      if (is_part || is_twin) return rule.use;
    }
    return MemoryUse::kParameters;
  }

  MemoryUse UseOfValue(hlo::InstructionId id) const {
    if (!id.valid()) return MemoryUse::kTemporaries;
    const hlo::InstructionId named = Named(id);
    if (IsBackward(named)) return MemoryUse::kBackward;
    const bool is_argument = named.valid() && module_[named].opcode == hlo::Opcode::kParameter &&
                             module_[named].computation == module_.entry_id();
    return named.valid() && !is_argument && IsReadBackward(id, 4) ? MemoryUse::kActivations
                                                                  : MemoryUse::kTemporaries;
  }

  hlo::InstructionId Definer(const dump::BufferTable& table, const MemoryBox& box) const {
    const dump::BufferValue& value = table.values[static_cast<size_t>(box.value)];
    return box.kind == AllocationKind::kParameter
               ? Parameter(
                     table.allocations[static_cast<size_t>(value.allocation)].parameter_number)
               : ByName(value.instruction);
  }

  // The user's scopes of what computes a value, outermost first; the parts of an argument's name.
  std::vector<std::string> ScopeOf(hlo::InstructionId id) const {
    const hlo::InstructionId named = id.valid() ? Named(id) : id;
    if (!named.valid()) return {};
    std::vector<std::string> scope;
    if (module_[named].opcode == hlo::Opcode::kParameter) {
      for (std::string_view part : NameParts(NameOf(named))) scope.emplace_back(part);
      return scope;
    }
    // Of the backward pass a scope is named as it was entered, and inside that again.
    for (std::string_view word : UserScopes(NameOf(named))) {
      if (scope.empty() || scope.back() != word) scope.emplace_back(word);
    }
    if (!scope.empty()) return scope;
    if (std::string function = FunctionOf(*MetadataOf(module_, named)); !function.empty())
      return {std::move(function)};
    // A copy of an argument is named as the argument.
    if (!NameOf(named).contains('/'))
      for (std::string_view part : NameParts(NameOf(named))) scope.emplace_back(part);
    return scope;
  }

  // The first word of an argument's name, the scopes of what computes a value, or the function.
  std::string WordsOf(hlo::InstructionId id) const {
    const hlo::InstructionId named = id.valid() ? Named(id) : id;
    if (!named.valid()) return {};
    const hlo::OpMetadata& metadata = *MetadataOf(module_, named);
    const std::string_view op_name = module_[metadata.op_name];
    if (module_[named].opcode == hlo::Opcode::kParameter) {
      const auto parts = NameParts(op_name);
      return parts.empty() ? std::string() : std::string(parts.front());
    }
    std::string words = ScopeWords(op_name);
    if (words.empty()) words = FunctionOf(metadata);
    if (!words.empty() || op_name.contains('/')) return words;
    const auto parts = NameParts(op_name);
    return parts.empty() ? std::string() : std::string(parts.front());
  }

 private:
  std::string_view NameOf(hlo::InstructionId id) const {
    const auto* metadata = id.valid() ? MetadataOf(module_, id) : nullptr;
    return metadata == nullptr ? std::string_view() : module_[metadata->op_name];
  }
  std::string RestOf(std::string_view name, hlo::InstructionId id) const {
    const std::string_view first = NameParts(name).front();
    const auto end = static_cast<size_t>(first.data() + first.size() - name.data());
    return std::string(name.substr(end)) + " " + hlo::ToString(module_.shape(id), false);
  }

  // The instruction whose op_name says what computes the value: itself, what it passes on, or the
  // last named one of what it calls.
  hlo::InstructionId Named(hlo::InstructionId id) const {
    constexpr int kMaxSteps = 8;
    for (int step = 0; step < kMaxSteps && id.valid(); ++step) {
      if (MetadataOf(module_, id) != nullptr) return id;
      const hlo::Instruction& i = module_[id];
      if (i.opcode == hlo::Opcode::kFusion || i.opcode == hlo::Opcode::kCall) {
        const auto called = module_.CalledComputations(i);
        const hlo::InstructionId inside =
            called.empty() ? hlo::InstructionId() : LastNamed(called.front());
        if (inside.valid()) return inside;
      }
      const bool goes_on = PassesOn(i.opcode) || i.opcode == hlo::Opcode::kFusion;
      id = goes_on && i.operand_count > 0 ? module_.operands(i).front() : hlo::InstructionId();
    }
    return {};
  }
  hlo::InstructionId LastNamed(hlo::ComputationId computation) const {
    const hlo::Computation& c = module_[computation];
    for (uint32_t k = c.instruction_count; k-- > 0;) {
      const hlo::InstructionId id(c.first_instruction + k);
      if (module_[id].opcode != hlo::Opcode::kParameter && MetadataOf(module_, id) != nullptr)
        return id;
    }
    return {};
  }

  bool IsBackward(hlo::InstructionId named) const {
    const std::string_view name = NameOf(named);
    return std::ranges::any_of(kUseRules, [&](const UseRule& rule) {
      return rule.evidence == UseEvidence::kOperation && rule.use == MemoryUse::kBackward &&
             name.find(rule.word) != std::string_view::npos;
    });
  }
  bool IsReadBackward(hlo::InstructionId id, int steps) const {
    return std::ranges::any_of(users_.users(id), [&](hlo::InstructionId user) {
      if (MetadataOf(module_, user) == nullptr && PassesOn(module_[user].opcode))
        return steps > 0 && IsReadBackward(user, steps - 1);
      return IsBackward(Named(user));
    });
  }

  std::string FunctionOf(const hlo::OpMetadata& metadata) const {
    const hlo::StackFrames& frames = module_.header().stack_frames;
    auto at = [](const auto& list, int32_t id) {
      return id > 0 && static_cast<size_t>(id) <= list.size() ? &list[static_cast<size_t>(id) - 1]
                                                              : nullptr;
    };
    const auto* frame = at(frames.frames, metadata.stack_frame_id);
    const auto* location =
        frame == nullptr ? nullptr : at(frames.locations, frame->file_location_id);
    const auto* function =
        location == nullptr ? nullptr : at(frames.function_names, location->function_name_id);
    if (function != nullptr) {
      std::string name(module_[*function]);
      constexpr std::string_view kNested = "<locals>.";
      for (size_t k = name.find(kNested); k != std::string::npos; k = name.find(kNested))
        name.erase(k, kNested.size());
      return name;
    }
    if (!metadata.source_file.valid() || metadata.source_line <= 0) return {};
    const std::string_view file = module_[metadata.source_file];
    return std::string(file.substr(file.rfind('/') + 1)) + ":" +
           std::to_string(metadata.source_line);
  }

  const hlo::Module& module_;
  hlo::UserIndex users_;
  std::vector<hlo::InstructionId> parameters_;
  std::unordered_map<std::string_view, uint32_t> by_name_;
  std::map<std::string, int> rests_;  // names of arguments after their first word, with shapes
};

// Bytes of each box that no larger one of those that live at the point has.
std::vector<std::pair<const MemoryBox*, int64_t>> OwnBytes(const MemoryPlan& plan) {
  std::vector<const MemoryBox*> live;
  std::vector<int64_t> edges;
  for (const MemoryBox& box : plan.boxes) {
    if (plan.peak_point < box.first || plan.peak_point > box.last) continue;
    live.push_back(&box);
    edges.push_back(box.bottom);
    edges.push_back(box.bottom + box.size);
  }
  std::ranges::sort(edges);
  edges.erase(std::ranges::unique(edges).begin(), edges.end());
  std::ranges::stable_sort(live, std::greater(), &MemoryBox::size);
  // next[e]: the first unassigned stretch from e on.
  std::vector<size_t> next(edges.size() + 1);
  std::iota(next.begin(), next.end(), size_t{0});
  auto free_from = [&](size_t e) {
    while (next[e] != e) e = next[e] = next[next[e]];
    return e;
  };
  auto index_of = [&](int64_t byte) {
    return static_cast<size_t>(std::ranges::lower_bound(edges, byte) - edges.begin());
  };
  std::vector<std::pair<const MemoryBox*, int64_t>> own;
  for (const MemoryBox* box : live) {
    const size_t end = index_of(box->bottom + box->size);
    int64_t bytes = 0;
    for (size_t e = free_from(index_of(box->bottom)); e < end; e = free_from(e)) {
      bytes += edges[e + 1] - edges[e];
      next[e] = e + 1;
    }
    if (bytes > 0) own.emplace_back(box, bytes);
  }
  return own;
}

MemoryUse UseOfKind(AllocationKind kind) {
  switch (kind) {
    case AllocationKind::kParameter:
      return MemoryUse::kParameters;
    case AllocationKind::kResult:
      return MemoryUse::kResults;
    case AllocationKind::kConstant:
      return MemoryUse::kConstants;
    case AllocationKind::kThreadLocal:
      return MemoryUse::kThreadLocal;
    case AllocationKind::kTemporary:
      break;
  }
  return MemoryUse::kTemporaries;
}

}  // namespace

std::string_view TitleOf(MemoryUse use) {
  static constexpr std::string_view kTitles[] = {
#define GROUP(name, title, help) title,
#include "viewer/facts/memory/memory_groups.def"
  };
  return kTitles[static_cast<size_t>(use)];
}

std::string_view HelpOf(MemoryUse use) {
  static constexpr std::string_view kHelps[] = {
#define GROUP(name, title, help) help,
#include "viewer/facts/memory/memory_groups.def"
  };
  return kHelps[static_cast<size_t>(use)];
}

std::vector<PeakValue> PeakValuesOf(const dump::BufferTable& table, const MemoryPlan& plan,
                                    const hlo::Module& module) {
  const UseFinder finder(module);
  std::vector<PeakValue> values;
  for (const auto& [box, bytes] : OwnBytes(plan)) {
    const hlo::InstructionId id = finder.Definer(table, *box);
    values.push_back({box->value, id, bytes, finder.ScopeOf(id)});
  }
  return values;
}

MemoryGroups GroupsOf(const dump::BufferTable& table, const MemoryPlan& plan,
                      const hlo::Module* module) {
  std::optional<UseFinder> finder;
  if (module != nullptr) finder.emplace(*module);
  std::map<MemoryUse, MemoryGroup> groups;
  std::map<MemoryUse, std::map<std::string, int64_t>> words;
  MemoryGroups all;
  for (const auto& [box, bytes] : OwnBytes(plan)) {
    MemoryUse use = UseOfKind(box->kind);
    hlo::InstructionId id;
    if (finder) {
      id = finder->Definer(table, *box);
      if (use == MemoryUse::kParameters && id.valid()) use = finder->UseOfParameter(id);
      if (use == MemoryUse::kTemporaries) use = finder->UseOfValue(id);
      const std::string word = finder->WordsOf(id);
      if (!word.empty()) words[use][word] += bytes;
    }
    MemoryGroup& group = groups[use];
    group.use = use;
    group.bytes += bytes;
    ++group.values;
    if (group.largest < 0) group.largest = box->value;  // largest first
    all.total += bytes;
  }
  for (auto& [use, group] : groups) {
    group.words.assign(words[use].begin(), words[use].end());
    std::ranges::stable_sort(group.words, std::greater(), &std::pair<std::string, int64_t>::second);
    all.groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(all.groups, std::greater(), &MemoryGroup::bytes);
  return all;
}

}  // namespace hloscope::viewer
