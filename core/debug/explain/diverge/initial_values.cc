// What is reduced is padded with the initial value; counts by differences and by logarithms.
#include "core/debug/explain/diverge/initial_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/eval/numbers/precise.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

using hlo::ElementType;
using hlo::Literal;
using Number = std::complex<double>;

Literal Wide(const Literal& array, ElementType type) {
  hlo::Shape shape = array.shape().WithoutLayouts();
  shape.set_element_type(type);
  return eval::ConvertLiteral(array, shape);
}

// The fewest for which a sum that wraps around gets there.
std::optional<int64_t> CountOfSums(uint64_t actual, uint64_t expected, uint64_t step, int bits) {
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (int64_t count = 1; count <= kMaxInitialValues; ++count) {
    expected += step;
    if (((actual - expected) & mask) == 0) return count;
  }
  return std::nullopt;
}

std::vector<int64_t> CountsOfIntegers(const Literal& actual, const Literal& expected,
                                      const Literal& once_more) {
  const int bits = hlo::Info(actual.shape().element_type()).bits;
  const Literal wide[] = {Wide(actual, ElementType::kS64), Wide(expected, ElementType::kS64),
                          Wide(once_more, ElementType::kS64)};
  const auto a = wide[0].data<int64_t>(), e = wide[1].data<int64_t>(), o = wide[2].data<int64_t>();
  std::vector<int64_t> counts;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto from = static_cast<uint64_t>(e[i]), to = static_cast<uint64_t>(a[i]);
    const uint64_t step = static_cast<uint64_t>(o[i]) - from;
    if (step == 0 || from == to) continue;
    if (const auto count = CountOfSums(to, from, step, bits)) counts.push_back(*count);
    // A product of integers: until it has wrapped around.
    const double ratio = static_cast<double>(o[i]) / static_cast<double>(e[i]);
    const double moved = static_cast<double>(a[i]) / static_cast<double>(e[i]);
    const double power = std::log(std::abs(moved)) / std::log(std::abs(ratio));
    if (power >= 0.5 && power <= kMaxInitialValues) counts.push_back(std::llround(power));
    break;
  }
  return counts;
}

bool IsFinite(Number n) { return std::isfinite(n.real()) && std::isfinite(n.imag()); }

std::vector<int64_t> CountsOfFloats(const Literal& actual, const Literal& expected,
                                    const Literal& once_more) {
  const Literal wide[] = {Wide(actual, ElementType::kC128), Wide(expected, ElementType::kC128),
                          Wide(once_more, ElementType::kC128)};
  const auto a = wide[0].data<Number>(), e = wide[1].data<Number>(), o = wide[2].data<Number>();
  double most = 0;
  size_t at = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!IsFinite(a[i]) || !IsFinite(e[i]) || !IsFinite(o[i])) continue;
    // The share of what is there: a step below its rounding says nothing.
    const double share =
        std::abs(o[i] - e[i]) / std::max(std::abs(e[i]), std::numeric_limits<double>::min());
    if (share <= most) continue;
    most = share;
    at = i;
  }
  std::vector<int64_t> counts;
  if (most == 0) return counts;
  const auto add = [&](double count) {
    if (count >= 0.5 && count <= kMaxInitialValues) counts.push_back(std::llround(count));
  };
  add(((a[at] - e[at]) / (o[at] - e[at])).real());
  add(std::log(std::abs(a[at] / e[at])) / std::log(std::abs(o[at] / e[at])));
  return counts;
}

}  // namespace

std::vector<int64_t> FurtherInitialValues(const Literal& actual, const Literal& expected,
                                          const Literal& once_more) {
  const ElementType type = actual.shape().element_type();
  std::vector<int64_t> counts = hlo::IsFloat(type) || hlo::IsComplex(type)
                                    ? CountsOfFloats(actual, expected, once_more)
                                    : CountsOfIntegers(actual, expected, once_more);
  const auto same = std::ranges::unique(counts);
  counts.erase(same.begin(), same.end());
  return counts;
}

Result<std::shared_ptr<const Module>> InitialValuesAgain(
    const std::shared_ptr<const Module>& module, int64_t times) {
  hlo::Rewriter rewriter(module);
  int64_t made = 0;
  for (uint32_t i = 0; i < module->instructions().size(); ++i) {
    const InstructionId id(i);
    if ((*module)[id].opcode != Opcode::kReduce) continue;
    const auto dimensions = module->GetInts((*module)[id], AttributeKey::kDimensions);
    const auto originals = module->operands(id);
    if (dimensions.empty()) continue;
    std::vector<InstructionId> operands = rewriter.operands(id);
    const size_t arrays = operands.size() / 2;
    for (size_t k = 0; k < arrays; ++k) {
      hlo::Shape shape = module->shape(originals[k]).WithoutLayouts();
      std::vector<int64_t> padding(3 * shape.rank());
      const auto d = static_cast<size_t>(dimensions[0]);
      padding[3 * d + 1] = times;
      shape.set_dimension(d, shape.dimension(d) + times);
      const std::array attributes = {rewriter.builder().MakeInts(AttributeKey::kPadding, padding)};
      const std::array from = {operands[k], operands[arrays + k]};
      operands[k] = rewriter.Add((*module)[id].computation, "again." + std::to_string(made++),
                                 Opcode::kPad, std::move(shape), from, attributes);
    }
    std::vector<hlo::Attribute> attributes;
    for (const hlo::Attribute& attribute : module->attributes((*module)[id])) {
      if (attribute.key != AttributeKey::kControlPredecessors) attributes.push_back(attribute);
    }
    const InstructionId again =
        rewriter.Add((*module)[id].computation, "again." + std::to_string(made++), Opcode::kReduce,
                     module->shape(id), operands, attributes);
    rewriter.ReplaceAllUses(id, again);
    rewriter.Remove(id);
  }
  if (made == 0) return nullptr;
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult result, rewriter.Finish());
  return std::move(result.module);
}

}  // namespace hloscope::debug
