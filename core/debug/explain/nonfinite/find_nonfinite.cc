// From the origin of a NaN or an infinity to a report of it.
#include "core/debug/explain/nonfinite/find_nonfinite.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/debug/compare/compare_bits.h"
#include "core/debug/explain/nonfinite/inside_fusion.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/index_text.h"
#include "core/hlo/text/value_text.h"
#include "core/replay/capture/nonfinite_search.h"

namespace hloscope::debug {
namespace {

using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using replay::NonFiniteFound;
using replay::NonFiniteOrigin;
using runtime::Value;

constexpr size_t kMaxArrivals = 20;

std::string_view NameOf(NonFiniteKind kind) {
  return kind == NonFiniteKind::kNan ? "NaN" : "infinite";
}

// What a NaN's sign and payload are says nothing here, and in JSON a NaN is "nan".
std::string ElementText(const Literal& array, int64_t at) {
  std::string text;
  hlo::AppendElement(text, array, at);
  for (size_t nan = text.find("nan"); nan != std::string::npos; nan = text.find("nan", nan + 3)) {
    if (text.substr(nan + 3).starts_with("(0x")) text.erase(nan + 3, text.find(')', nan) - nan - 2);
    if (nan > 0 && text[nan - 1] == '-') text.erase(--nan, 1);
  }
  return text;
}

std::string ComputationOf(const Module& module, InstructionId id) {
  return std::string(module[module[module[id].computation].name]);
}

std::vector<PathStep> PathOf(const Module& module, std::span<const runtime::Frame> frames) {
  std::vector<PathStep> path;
  for (const runtime::Frame& frame : frames) {
    const hlo::Opcode opcode = module[frame.caller].opcode;
    PathStep step{std::string(module.name(frame.caller)), ComputationOf(module, frame.caller),
                  std::string(hlo::ToString(opcode)), std::nullopt};
    const bool loops = opcode == hlo::Opcode::kWhile || opcode == hlo::Opcode::kScan;
    if (loops) step.iteration = frame.iteration;
    path.push_back(std::move(step));
  }
  return path;
}

OperandReport ReportOperand(const Module& module, const NonFiniteOrigin& origin, size_t slot) {
  const auto ids = module.operands(origin.instruction);
  OperandReport report;
  if (slot < ids.size()) {
    report.instruction = module.name(ids[slot]);
    report.shape = hlo::ToString(module.shape(ids[slot]), false);
  }
  const Value& value = origin.operands[slot];
  if (!value.is_array()) return report;
  const bool same =
      std::ranges::equal(value.shape().dimensions(), origin.leaf.shape().dimensions());
  const bool elementwise =
      hlo::HasFlag(module[origin.instruction].opcode, hlo::kFlagElementwise) && same;
  if (elementwise || value.shape().ElementCount() == 1) {
    report.value = ElementText(value.literal(), elementwise ? origin.element : 0);
  } else {
    report.range = replay::FiniteRangeOf(value.literal());
  }
  return report;
}

NonFinite ReportOf(const Module& module, const NonFiniteOrigin& origin, NonFiniteKind kind) {
  const hlo::Instruction& instruction = module[origin.instruction];
  NonFinite report;
  report.kind = kind;
  report.instruction = module.name(origin.instruction);
  report.computation = ComputationOf(module, origin.instruction);
  report.opcode = hlo::ToString(instruction.opcode);
  report.shape = hlo::ToString(module.shape(origin.instruction), false);
  report.source = ToString(hlo::SourceLineOf(module, origin.instruction));
  report.path = PathOf(module, origin.frames);
  report.device = origin.device;
  report.leaf = origin.leaf_index;
  report.index = IndexOf(origin.element, origin.leaf.shape().dimensions());
  report.value = ElementText(origin.leaf.literal(), origin.element);
  for (size_t i = 0; i < origin.operands.size(); ++i) {
    report.operands.push_back(ReportOperand(module, origin, i));
  }
  return report;
}

// By position in the entry: what depends on `from`, itself included.
std::vector<bool> DependsOn(const Module& module, InstructionId from) {
  const hlo::Computation& entry = module.entry();
  std::vector<bool> depends(entry.instruction_count, false);
  for (uint32_t i = 0; i < entry.instruction_count; ++i) {
    const InstructionId id(entry.first_instruction + i);
    depends[i] = id == from || std::ranges::any_of(module.operands(id), [&](InstructionId operand) {
                   return depends[operand.index - entry.first_instruction];
                 });
  }
  return depends;
}

// True if an output that depends on the entry's instruction `from` holds a NaN or an infinity.
bool ReachesOutput(const Module& module, InstructionId from,
                   std::span<const Result<Literal>> leaves) {
  const hlo::Computation& entry = module.entry();
  const std::vector<bool> depends = DependsOn(module, from);
  const bool tuple = module[entry.root].opcode == hlo::Opcode::kTuple;
  const auto shapes = module.shape(entry.root).Leaves();
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].has_value()) continue;
    InstructionId source = entry.root;
    if (tuple && !shapes.empty()) {
      const auto& index = shapes[i % shapes.size()].first;
      if (!index.empty()) source = module.operands(entry.root)[static_cast<size_t>(index[0])];
    }
    if (!depends[source.index - entry.first_instruction]) continue;
    if (FindNonFinite(*leaves[i], NonFiniteKind::kNan) ||
        FindNonFinite(*leaves[i], NonFiniteKind::kInfinity)) {
      return true;
    }
  }
  return false;
}

// What the run takes, or the module has, that holds one already.
class Arrivals {
 public:
  Arrivals(const Module& module, NonFiniteKind kind, NonFiniteReport& report)
      : module_(module), kind_(kind), report_(report) {}

  void LookAtArguments(std::span<const Literal> arguments) {
    const auto parameters = module_.Parameters(module_.entry_id());
    size_t number = 0;
    for (size_t p = 0; p < arguments.size(); ++p) {
      for (const Literal& leaf : dump::FlattenLiteral(arguments[p])) {
        const InstructionId id = p < parameters.size() ? parameters[p] : InstructionId();
        Look(leaf, id, fmt::format("in{}", number++), " in the inputs");
      }
    }
  }

  void LookAtConstants() {
    for (uint32_t i = 0; i < module_.instructions().size(); ++i) {
      const hlo::Instruction& instruction = module_.instructions()[i];
      const auto* value = module_.Get<Literal>(instruction, hlo::AttributeKey::kConstantValue);
      if (value == nullptr || instruction.opcode != hlo::Opcode::kConstant) continue;
      Look(*value, InstructionId(i), fmt::format("constant {}", module_[instruction.name]),
           " in the module");
    }
  }

  std::optional<NonFinite>& first() { return first_; }
  InstructionId first_id() const { return first_id_; }  // where there is a first

 private:
  void Look(const Literal& leaf, InstructionId id, const std::string& name,
            std::string_view where) {
    const std::optional<int64_t> at = FindNonFinite(leaf, kind_);
    if (!at || !id.valid()) return;
    const std::vector<int64_t> index = IndexOf(*at, leaf.shape().dimensions());
    if (report_.arrivals.size() < kMaxArrivals) {
      const std::string place = index.empty() ? "" : hlo::ArrayIndexText(index);
      report_.arrivals.push_back(
          {.text = fmt::format("{}{} is {}{}", name, place, NameOf(kind_), where),
           .instruction = std::string(module_.name(id)),
           .computation = ComputationOf(module_, id)});
    }
    if (first_) return;
    first_id_ = id;
    first_ = NonFinite{};
    first_->kind = kind_;
    first_->on_arrival = true;
    first_->instruction = module_.name(id);
    first_->computation = ComputationOf(module_, id);
    first_->opcode = hlo::ToString(module_[id].opcode);
    first_->shape = hlo::ToString(leaf.shape(), false);
    first_->source = ToString(hlo::SourceLineOf(module_, id));
    first_->index = index;
    first_->value = ElementText(leaf, *at);
  }

  const Module& module_;
  NonFiniteKind kind_;
  NonFiniteReport& report_;
  std::optional<NonFinite> first_;
  InstructionId first_id_;
};

// The origin inside the scalar computation that the guilty instruction applies; the origin as it is
// where there is none to be seen.
NonFiniteOrigin Narrowed(const Module& module, NonFiniteOrigin origin, NonFiniteKind kind,
                         const SearchRun& run) {
  if (!replay::AppliesScalarComputation(module[origin.instruction].opcode)) return origin;
  const auto inside = run(NonFiniteSearchRequest(kind, &origin));
  if (!inside.has_value()) return origin;
  const Result<NonFiniteFound> found = ReadNonFiniteFound(module, inside->finding);
  return found.has_value() && found->first ? *found->first : origin;
}

// Where no instruction makes one, what holds one from the start is the first: a parameter, or a
// constant if a result holds one too. Many modules have constants that nothing ever selects.
void AddArrival(const Module& module, Arrivals& arrivals, NonFiniteKind kind,
                std::span<const Result<Literal>> leaves, NonFiniteReport& report) {
  if (!arrivals.first()) return;
  const InstructionId id = arrivals.first_id();
  const bool in_results = std::ranges::any_of(leaves, [&](const Result<Literal>& leaf) {
    return leaf.has_value() && FindNonFinite(*leaf, kind).has_value();
  });
  if (module[id].opcode == hlo::Opcode::kConstant && !in_results) return;
  report.first = std::move(arrivals.first());
  report.first->reaches_output =
      module[id].computation == module.entry_id() ? ReachesOutput(module, id, leaves) : in_results;
}

}  // namespace

Result<NonFiniteReport> FindFirstNonFinite(const Module& module, std::span<const Literal> arguments,
                                           NonFiniteKind kind, const SearchRun& run) {
  NonFiniteReport report;
  Arrivals arrivals(module, kind, report);
  arrivals.LookAtArguments(arguments);
  arrivals.LookAtConstants();
  HLOSCOPE_ASSIGN_OR_RETURN(const SearchedRun searched, run(NonFiniteSearchRequest(kind)));
  // The platform may have looked at the values of the module that it compiled.
  const Module& looked = searched.finding.module ? *searched.finding.module : module;
  HLOSCOPE_ASSIGN_OR_RETURN(const NonFiniteFound found,
                            ReadNonFiniteFound(looked, searched.finding));
  const auto& leaves = searched.leaves;
  const std::optional<NonFiniteOrigin>& origin = found.first;
  if (!origin) {
    AddArrival(module, arrivals, kind, leaves, report);
    return report;
  }
  if (const auto inside = FindInsideFusion(looked, *origin, kind)) {
    report.first = ReportOf(*inside->module, inside->origin, kind);
    report.first->device = origin->device;
    const auto around = PathOf(looked, origin->frames);
    report.first->path.insert(report.first->path.begin(), around.begin(), around.end());
  } else {
    report.first = ReportOf(looked, Narrowed(looked, *origin, kind, run), kind);
  }
  const InstructionId in_entry =
      origin->frames.empty() ? origin->instruction : origin->frames[0].caller;
  report.first->reaches_output = ReachesOutput(looked, in_entry, leaves);
  const InstructionId infinity = found.infinity_from;
  if (infinity.valid()) report.first->infinity_from = looked.name(infinity);
  return report;
}

}  // namespace hloscope::debug
