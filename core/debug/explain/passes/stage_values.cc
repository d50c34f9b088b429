// Evaluating stages on shared inputs.
#include "core/debug/explain/passes/stage_values.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/analysis/align/alignment_side.h"
#include "core/base/quick_hash.h"
#include "core/debug/explain/diverge/optimised_module.h"
#include "core/eval/numbers/precise.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {

using hlo::ElementType;
using hlo::Literal;
using hlo::Module;

namespace {

// The bits of a finite number one step further from zero or nearer, in a pseudo-random order.
// Arguments 2n and 2n + 1 move in opposite ways: what one subtracts from the other moves too.
template <typename Bits>
void MoveAll(std::vector<std::byte>& bytes, Bits exponent, uint64_t argument) {
  const size_t count = bytes.size() / sizeof(Bits);
  for (size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
    const auto magnitude = static_cast<Bits>(bits & static_cast<Bits>(~Bits{0} >> 1));
    if (magnitude == 0 || magnitude >= static_cast<Bits>(exponent - 1)) continue;
    const bool away = (MixKeys(argument / 2, i) + argument) % 2 == 0;
    bits = static_cast<Bits>(away ? bits + 1 : bits - 1);
    std::memcpy(bytes.data() + i * sizeof(Bits), &bits, sizeof(Bits));
  }
}

Literal Moved(const Literal& literal, uint64_t argument) {
  if (literal.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : literal.elements()) {
      elements.push_back(Moved(element, MixKeys(argument, elements.size())));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (!literal.shape().IsArray() || literal.elided()) return literal;
  std::vector<std::byte> bytes(literal.bytes().begin(), literal.bytes().end());
  switch (hlo::RealPart(literal.shape().element_type())) {
    case ElementType::kF64:
      MoveAll<uint64_t>(bytes, uint64_t{0x7ff} << 52, argument);
      break;
    case ElementType::kF32:
      MoveAll<uint32_t>(bytes, uint32_t{0xff} << 23, argument);
      break;
    case ElementType::kF16:
      MoveAll<uint16_t>(bytes, uint16_t{0x7c00}, argument);
      break;
    case ElementType::kBF16:
      MoveAll<uint16_t>(bytes, uint16_t{0x7f80}, argument);
      break;
    default:
      return literal;
  }
  Literal moved = Literal::Dense(literal.shape(), std::move(bytes));
  const auto sizes = literal.dynamic_sizes();
  moved.set_dynamic_sizes({sizes.begin(), sizes.end()});
  return moved;
}

// Whether its parameters are tuples where the arguments are.
bool TakesTuples(const Module& module, std::span<const Literal> arguments) {
  const std::vector<hlo::InstructionId> parameters = module.Parameters(module.entry_id());
  return std::ranges::equal(parameters, arguments, [&](hlo::InstructionId id, const Literal& a) {
    return module.shape(id).IsTuple() == a.shape().IsTuple();
  });
}

}  // namespace

std::vector<Literal> MovedByOneUlp(const std::vector<Literal>& arguments) {
  std::vector<Literal> moved;
  for (const Literal& argument : arguments) moved.push_back(Moved(argument, moved.size()));
  return moved;
}

Result<Leaves> LeavesOf(const RunReport& report) {
  if (report.outputs.empty() && report.error) return std::unexpected(*report.error);
  Leaves leaves;
  bool any = report.outputs.empty();
  for (const RunOutput& output : report.outputs) {
    if (output.missing) {
      leaves.push_back(std::unexpected(*output.missing));
    } else {
      leaves.push_back(output.value);
      any = true;
    }
  }
  if (!any) return std::unexpected(leaves.front().error());
  return leaves;
}

StageValues::StageValues(const RunSpec& request, std::stop_token stop)
    : request_(DerivedSpec(request, {.name = std::string(replay::ReferencePlatform().name)},
                           request.inputs)),
      stop_(std::move(stop)) {}

Result<Leaves> StageValues::Begin(const std::shared_ptr<const Module>& module) {
  first_ = RunModule(module, request_, stop_);
  request_.inputs = request_.inputs.With(first_.arguments);
  return LeavesOf(first_);
}

StageValues StageValues::On(std::vector<Literal> arguments) const {
  StageValues other = *this;
  other.request_.inputs.arguments = std::move(arguments);
  return other;
}

Result<Leaves> StageValues::Run(const std::shared_ptr<const Module>& module,
                                const RunSpec& request) const {
  return LeavesOf(RunModule(module, RequestFor(*module, request), stop_));
}

RunSpec StageValues::RequestFor(const Module& module, RunSpec request) {
  if (!TakesTuples(module, request.inputs.arguments)) {
    request.inputs.arguments = LeafArguments(request.inputs.arguments);
  }
  return request;
}

Result<Leaves> StageValues::Plain(const std::shared_ptr<const Module>& module) const {
  return Run(module, request_);
}

Result<Leaves> StageValues::Wide(const std::shared_ptr<const Module>& module) const {
  return Run(eval::WidenModule(*module), request_);
}

Result<Leaves> StageValues::Rounded(const std::shared_ptr<const Module>& module) const {
  return Run(eval::WidenModule(*module, eval::Roundings::kAsked), request_);
}

Result<Leaves> StageValues::Moved(const std::shared_ptr<const Module>& module) const {
  RunSpec moved = request_;
  moved.inputs.arguments = MovedByOneUlp(moved.inputs.arguments);
  return Run(module, moved);
}

}  // namespace hloscope::debug
