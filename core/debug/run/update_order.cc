// Turns updates around, and counts what moves.
#include "core/debug/run/update_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/base/counted.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;

bool KeepsOneValue(const Module& module, InstructionId scatter) {
  const auto callees = module.CalledComputations(module[scatter]);
  if (callees.size() != 1) return false;
  const hlo::Instruction& root = module[module[callees[0]].root];
  const auto is_parameter = [&](const hlo::Instruction& one) {
    return one.opcode == Opcode::kParameter;
  };
  return is_parameter(root) || (root.opcode == Opcode::kTuple &&
                                std::ranges::all_of(module.operands(root), [&](InstructionId id) {
                                  return is_parameter(module[id]);
                                }));
}

// Another scatter in the place of this one.
Status ReverseUpdates(const Module& module, hlo::Rewriter& rewriter, InstructionId id) {
  const hlo::ScatterDims dims = hlo::ScatterDimsOf(module, id);
  if (!dims.input_batching_dims.empty()) {
    return InputError(fmt::format("{}: a scatter with batching dimensions", module.name(id)));
  }
  const auto operands = module.operands(id);
  const size_t indices = operands.size() / 2;
  std::vector<InstructionId> reversed = rewriter.operands(id);
  for (size_t k = indices; k < operands.size(); ++k) {
    const hlo::Shape shape = module.shape(operands[k]).WithoutLayouts();
    std::vector<int64_t> dimensions;
    for (int64_t d = 0; d < static_cast<int64_t>(shape.rank()); ++d) {
      const bool stays = k == indices ? d == dims.index_vector_dim
                                      : std::ranges::count(dims.update_window_dims, d) > 0;
      if (!stays) dimensions.push_back(d);
    }
    const std::array attributes = {
        rewriter.builder().MakeInts(AttributeKey::kDimensions, dimensions)};
    const std::array from = {reversed[k]};
    reversed[k] = rewriter.Add(module[id].computation, fmt::format("reversed.{}", k),
                               Opcode::kReverse, shape, from, attributes);
  }
  std::vector<hlo::Attribute> attributes;
  for (const hlo::Attribute& attribute : module.attributes(module[id])) {
    if (attribute.key != AttributeKey::kControlPredecessors) attributes.push_back(attribute);
  }
  const InstructionId other = rewriter.Add(module[id].computation, "reversed", Opcode::kScatter,
                                           module.shape(id), reversed, attributes);
  rewriter.ReplaceAllUses(id, other);
  rewriter.Remove(id);
  return {};
}

// Indices need not be unique, and the computation gives one of its parameters.
std::vector<InstructionId> KeepingScatters(const Module& module) {
  std::vector<InstructionId> found;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    if (module[id].opcode == Opcode::kScatter &&
        module.GetInt(module[id], AttributeKey::kUniqueIndices) == 0 && KeepsOneValue(module, id)) {
      found.push_back(id);
    }
  }
  return found;
}

// `actual` with the elements of `expected` wherever `first` and `last` differ; empty where they are
// not arrays of one size.
std::optional<Literal> WithExpectedWhereMoved(const Literal& actual, const Literal& expected,
                                              const Literal& first, const Literal& last) {
  const size_t size = actual.bytes().size();
  if (!actual.shape().IsArray() || expected.bytes().size() != size ||
      first.bytes().size() != size || last.bytes().size() != size) {
    return std::nullopt;
  }
  const auto width = static_cast<size_t>(hlo::StorageBytes(actual.shape().element_type()));
  std::vector<std::byte> bytes(actual.bytes().begin(), actual.bytes().end());
  for (size_t at = 0; at + width <= size; at += width) {
    const auto element = [&](const Literal& one) { return one.bytes().subspan(at, width); };
    if (std::ranges::equal(element(first), element(last))) continue;
    std::ranges::copy(element(expected), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return Literal::Dense(actual.shape(), std::move(bytes));
}

}  // namespace

Result<std::shared_ptr<const Module>> WithUpdatesReversed(
    const std::shared_ptr<const Module>& module, std::span<const InstructionId> scatters) {
  hlo::Rewriter rewriter(module);
  for (const InstructionId id : scatters) HLOSCOPE_TRY(ReverseUpdates(*module, rewriter, id));
  HLOSCOPE_ASSIGN_OR_RETURN(auto made, rewriter.Finish());
  return made.module;
}

std::optional<MovedElements> MovedByUpdateOrder(const std::shared_ptr<const Module>& module,
                                                const RunSpec& spec,
                                                const std::vector<hlo::Literal>& arguments,
                                                std::span<const DifferingResult> results) {
  MovedElements moved{.scatters = KeepingScatters(*module)};
  if (moved.scatters.empty()) return std::nullopt;
  const auto other = WithUpdatesReversed(module, moved.scatters);
  if (!other) return std::nullopt;
  const RunSpec derived = DerivedSpec(spec, {.name = std::string(replay::ReferencePlatform().name)},
                                      InputSpec{}.With(arguments));
  const RunReport first = RunModule(module, derived), last = RunModule(*other, derived);
  if (first.error || last.error) return std::nullopt;
  for (const auto& [leaf, actual, expected] : results) {
    if (leaf >= first.outputs.size() || leaf >= last.outputs.size()) continue;
    const auto settled = WithExpectedWhereMoved(actual, expected, first.outputs[leaf].value,
                                                last.outputs[leaf].value);
    if (!settled) continue;
    const int64_t before = CompareArrays(actual, expected, spec.compare.bounds).mismatched;
    moved.differing += before;
    moved.moving += before - CompareArrays(*settled, expected, spec.compare.bounds).mismatched;
  }
  return moved.moving == 0 ? std::nullopt : std::optional(std::move(moved));
}

std::optional<std::string> UpdateOrderHint(const std::shared_ptr<const Module>& module,
                                           const RunSpec& spec,
                                           const std::vector<hlo::Literal>& arguments,
                                           std::span<const DifferingResult> results) {
  const auto moved = MovedByUpdateOrder(module, spec, arguments, results);
  if (!moved) return std::nullopt;
  const auto [differing, moving, scatters] = *moved;
  std::vector<std::string_view> names;
  for (const InstructionId id : scatters) names.push_back(module->name(id));
  return fmt::format(
      "{} of {} that {} also {} when the updates of {} {} are applied from the last to the first: "
      "one element is written more than once, and HLO leaves open which value stays",
      moving, Counted(differing, "element"), VerbFor(differing, "differs", "differ"),
      VerbFor(moving, "changes", "change"), VerbFor(names.size(), "scatter", "the scatters"),
      fmt::join(names, ", "));
}

}  // namespace hloscope::debug
