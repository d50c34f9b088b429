// Statistics by instruction, and what they read like.
#include "viewer/model/captured_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/analysis/call_graph.h"

namespace hloscope::viewer {
namespace {

using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using replay::ValueStatistics;

constexpr int kDeepest = 16;  // of tuples in tuples, and fusions in calls

// Leaves of both sides in [begin, begin + count); all that is known where a side has fewer.
CapturedValues Slice(const CapturedValues& all, size_t begin, size_t count) {
  CapturedValues part;
  part.is_evaluated = all.is_evaluated;
  part.executions = all.executions;
  part.executions_with_nan = all.executions_with_nan;
  for (const auto& [from, to] :
       {std::pair(&all.platform, &part.platform), std::pair(&all.reference, &part.reference)}) {
    if (begin + count > from->size()) continue;
    to->assign(from->begin() + static_cast<ptrdiff_t>(begin),
               from->begin() + static_cast<ptrdiff_t>(begin + count));
  }
  return part;
}

std::optional<CapturedValues> Find(const RunValues& values, InstructionId id, int depth);

std::optional<CapturedValues> ElementOf(const RunValues& values, InstructionId id, int depth) {
  const Module& module = *values.module;
  const InstructionId tuple = module.operands(id)[0];
  const std::optional<CapturedValues> all = Find(values, tuple, depth + 1);
  if (!all) return std::nullopt;
  const hlo::Shape& shape = module.shape(tuple);
  const auto index = static_cast<size_t>(module.GetInt(module[id], hlo::AttributeKey::kIndex));
  if (index >= shape.elements().size()) return std::nullopt;
  const hlo::LeafRange range = shape.ElementLeaves(index);
  return Slice(*all, range.begin, range.count());
}

std::optional<CapturedValues> TupleOf(const RunValues& values, InstructionId id, int depth) {
  CapturedValues all;
  for (const InstructionId operand : values.module->operands(id)) {
    const std::optional<CapturedValues> part = Find(values, operand, depth + 1);
    if (!part) return std::nullopt;
    all.executions = part->executions;
    all.is_evaluated |= part->is_evaluated;
    all.platform.insert(all.platform.end(), part->platform.begin(), part->platform.end());
    all.reference.insert(all.reference.end(), part->reference.begin(), part->reference.end());
  }
  const size_t leaves = values.module->shape(id).LeafCount();
  if (all.platform.size() != leaves) all.platform.clear();
  if (all.reference.size() != leaves) all.reference.clear();
  return all;
}

// Of a computation that a fusion or a call hands its operands to.
std::optional<CapturedValues> ArgumentOf(const RunValues& values, InstructionId id, int depth) {
  const Module& module = *values.module;
  const InstructionId caller = hlo::CallGraphOf(module).FirstCaller(module[id].computation);
  if (!caller.valid()) return std::nullopt;
  const Opcode opcode = module[caller].opcode;
  if (opcode != Opcode::kFusion && opcode != Opcode::kCall) return std::nullopt;
  const auto number =
      static_cast<size_t>(module.GetInt(module[id], hlo::AttributeKey::kParameterNumber));
  const auto operands = module.operands(caller);
  if (number >= operands.size()) return std::nullopt;
  return Find(values, operands[number], depth + 1);
}

// As the file has it, the same on both sides.
std::optional<CapturedValues> ConstantOf(const RunValues& values, InstructionId id) {
  constexpr int64_t kMaxElements = 1 << 16;  // that are looked at while the pointer rests
  const Module& module = *values.module;
  const auto* literal = module.Get<hlo::Literal>(module[id], hlo::AttributeKey::kConstantValue);
  if (literal == nullptr || literal->elided() ||
      module.shape(id).ElementCount().value_or(0) > kMaxElements) {
    return std::nullopt;
  }
  CapturedValues held;
  held.platform = held.reference = DescribeLeaves(*literal);
  return held;
}

std::optional<CapturedValues> Find(const RunValues& values, InstructionId id, int depth) {
  if (!id.valid() || depth > kDeepest || id.index >= values.module->instructions().size()) {
    return std::nullopt;
  }
  const auto known = values.of.find(id.index);
  if (known != values.of.end()) return known->second;
  const Opcode opcode = (*values.module)[id].opcode;
  if (opcode == Opcode::kGetTupleElement) return ElementOf(values, id, depth);
  if (opcode == Opcode::kTuple) return TupleOf(values, id, depth);
  if (opcode == Opcode::kParameter) return ArgumentOf(values, id, depth);
  return opcode == Opcode::kConstant ? ConstantOf(values, id) : std::nullopt;
}

}  // namespace

std::optional<CapturedValues> FindCapturedValues(const RunValues& values,
                                                 InstructionId instruction) {
  if (values.module == nullptr) return std::nullopt;
  std::optional<CapturedValues> held = Find(values, instruction, 0);
  if (held && held->platform.empty() && held->reference.empty()) return std::nullopt;
  return held;
}

std::vector<ValueStatistics> DescribeLeaves(const hlo::Literal& literal) {
  std::vector<ValueStatistics> all;
  for (const hlo::Literal& leaf : dump::FlattenLiteral(literal)) {
    all.push_back(replay::StatisticsOf(leaf));
  }
  return all;
}

CapturedValues ToCapturedValues(const debug::InstructionReport& report, bool has_reference) {
  CapturedValues held;
  held.platform = report.actual_statistics;
  if (has_reference) held.reference = report.expected_statistics;
  return held;
}

void CapturedValuesCollector::Take(replay::RunEvent event) {
  const auto* captured = std::get_if<replay::CapturedValue>(&event);
  if (captured == nullptr || captured->key.device != 0) return;
  const auto* numbers = std::get_if<ValueStatistics>(&captured->value);
  if (numbers == nullptr) return;
  const uint32_t index = captured->key.instruction.index;
  const auto known = values.find(index);
  if (known == values.end() && values.size() >= kMaxCapturedValues) {
    is_full = true;
    return;
  }
  CapturedValues& held = known == values.end() ? values[index] : known->second;
  const auto leaf = static_cast<size_t>(captured->key.leaf);
  if (leaf == 0) held.executions = held.reference.empty() ? 1 : held.executions + 1;
  if (leaf >= held.reference.size()) held.reference.resize(leaf + 1);
  held.reference[leaf] = *numbers;
  held.is_evaluated = true;
  if (leaf == 0 && numbers->nans > 0) ++held.executions_with_nan;
}

std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{:.9g}", value);
}

namespace {

// The shortest text that reads back as the same element.
std::string ElementText(double x, hlo::ElementType type) {
  constexpr double kExact = 9007199254740992;  // 2^53: whole numbers below are exact
  if (type == hlo::ElementType::kPred) return x != 0 ? "true" : "false";
  if (!std::isfinite(x)) return NumberText(x);
  const bool is_real = hlo::IsFloat(type) || hlo::IsComplex(type);
  if (!is_real && std::abs(x) < kExact) return fmt::format("{:.0f}", x);
  const bool is_wide = !is_real || hlo::BitWidth(hlo::RealPart(type)) > 32;
  return is_wide ? fmt::format("{}", x) : fmt::format("{}", static_cast<float>(x));
}

}  // namespace

std::string FirstElementsText(const ValueStatistics& values, hlo::ElementType type, int64_t most) {
  std::string text;
  const int64_t shown = std::min({values.elements, ValueStatistics::kFirst, most});
  for (int64_t i = 0; i < shown; ++i) {
    const std::complex<double> element = values.first[i];
    const std::string real = ElementText(element.real(), type);
    text += i > 0 ? ", " : "";
    text += hlo::IsComplex(type) ? fmt::format("({}, {})", real, ElementText(element.imag(), type))
                                 : real;
  }
  return values.elements > shown ? text + ", …" : text;
}

std::string RangeText(const ValueStatistics& values, hlo::ElementType type) {
  if (values.elements == 0) return "empty";
  const int64_t finite = values.elements - values.nans - values.infinities;
  std::string text;
  if (finite > 0 && values.low == values.high) {
    text = "all " + NumberText(values.low);
  } else if (finite > 0) {
    text = fmt::format("{} to {}, mean {}", NumberText(values.low), NumberText(values.high),
                       NumberText(values.mean));
  }
  if (finite > 0 && hlo::IsComplex(type)) text = "absolute values " + text;
  const auto add = [&text](int64_t count, std::string_view what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(values.nans, "NaN");
  add(values.infinities, "infinite");
  return text;
}

}  // namespace hloscope::viewer
