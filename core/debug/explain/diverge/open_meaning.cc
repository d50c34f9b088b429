// Laws tried on values, orders reversed.
#include "core/debug/explain/diverge/open_meaning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/debug/explain/diverge/initial_values.h"
#include "core/debug/reduce/edit.h"
#include "core/debug/run/update_order.h"
#include "core/eval/numbers/precise.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/rewrite/rewriter.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;
using ModulePtr = std::shared_ptr<const Module>;
using Point = std::vector<Literal>;  // a scalar for each operand

Literal ScalarOf(double value, const Shape& shape) {
  const Literal wide =
      Literal::Of<double>(Shape::Scalar(hlo::ElementType::kF64), std::span(&value, 1));
  return eval::ConvertLiteral(wide, shape);
}

class Asker {
 public:
  Asker(const Candidate& candidate, const RunSpec& request, const std::stop_token& stop)
      : candidate_(candidate), module_(*candidate.module), stop_(stop) {
    request_.test.name = request.reference.name;
    request_.limits = request.limits;
    request_.compare.bounds = request.compare.bounds;
    request_.execution.workers = request.execution.workers;
    request_.budget.seconds = request.budget.seconds;
  }

  std::optional<Cause> Ask(InstructionId id) const {
    static constexpr hlo::OpcodeSet kReductions = {Opcode::kReduce, Opcode::kReduceWindow,
                                                   Opcode::kSelectAndScatter, Opcode::kAllReduce,
                                                   Opcode::kReduceScatter};
    const Opcode opcode = module_[id].opcode;
    if (kReductions.Has(opcode) && BreaksMonoid(id)) return Cause::kCombiner;
    if (opcode == Opcode::kReduce && MovesWithInitialValue()) return Cause::kInitialValue;
    if (opcode == Opcode::kSort && IsIllOrdered(id)) return Cause::kComparator;
    if (opcode == Opcode::kSort && MovesWithTies(id)) return Cause::kTies;
    if (opcode == Opcode::kScatter && MovesWithOrder(id)) return Cause::kOverlappingUpdates;
    return std::nullopt;
  }

  // Whether the sort leaves `actual` as it is; true as well where it does not give them, or is
  // given something else than parameters.
  bool IsSorted(InstructionId id, std::span<const Literal> actual) const {
    const auto operands = module_.operands(id);
    if (module_.entry().root != id || actual.size() != operands.size()) return true;
    std::vector<Literal> arguments = candidate_.arguments;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (module_[operands[k]].opcode != Opcode::kParameter) return true;
      const int64_t number = module_.GetInt(module_[operands[k]], AttributeKey::kParameterNumber);
      arguments[static_cast<size_t>(number)] = actual[k];
    }
    const std::vector<Literal> again = Run(candidate_.module, std::move(arguments));
    return again.size() == actual.size() && SameValues(again, {actual.begin(), actual.end()});
  }

 private:
  // Empty where it cannot be run.
  std::vector<Literal> Run(const ModulePtr& module, std::vector<Literal> arguments) const {
    RunSpec own = request_;
    own.inputs.arguments = std::move(arguments);
    const RunReport report = RunModule(module, own, stop_);
    std::vector<Literal> results;
    for (const RunOutput& output : report.outputs) {
      if (output.missing || report.error) return {};
      results.push_back(output.value);
    }
    return results;
  }

  bool SameValues(const std::vector<Literal>& a, const std::vector<Literal>& b) const {
    if (a.size() != b.size()) return true;  // nothing is known
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].shape().IsArray() && !CompareArrays(a[i], b[i], request_.compare.bounds).equal())
        return false;
    }
    return true;
  }

  // On numbers so small that no law breaks by rounding.
  bool BreaksMonoid(InstructionId id) const {
    const auto callees = module_.CalledComputations(module_[id]);
    if (callees.empty()) return false;
    const ModulePtr combiner = WithEntry(module_, callees.back());
    const auto parameters = combiner->Parameters(combiner->entry_id());
    const size_t arrays = parameters.size() / 2;
    if (arrays == 0) return false;
    // Equal values with other partners too, as of a maximum and its place.
    constexpr std::array<double, 6> kValues = {0, 1, 2, 4, 3, 5};
    constexpr std::array<size_t, 6> kFirst = {0, 1, 1, 2, 3, 4}, kOther = {0, 1, 2, 3, 4, 5};
    std::vector<Point> points;
    for (size_t k = 0; k < kFirst.size(); ++k) {
      Point& point = points.emplace_back();
      for (size_t i = 0; i < arrays; ++i) {
        point.push_back(
            ScalarOf(kValues[i == 0 ? kFirst[k] : kOther[k]], combiner->shape(parameters[i])));
      }
    }
    const auto combine = [&](const Point& a, const Point& b) {
      Point both = a;
      both.insert(both.end(), b.begin(), b.end());
      if (both.size() != parameters.size()) return Point();
      return Run(combiner, std::move(both));
    };
    for (const Point& a : points) {
      for (const Point& b : points) {
        const Point ab = combine(a, b);
        if (!SameValues(ab, combine(b, a))) return true;
        for (const Point& c : points) {
          if (stop_.stop_requested()) return false;
          if (!SameValues(combine(ab, c), combine(a, combine(b, c)))) return true;
        }
      }
    }
    return false;
  }

  bool MovesWithInitialValue() const {
    const auto again = InitialValuesAgain(candidate_.module, 1);
    return again.has_value() && *again != nullptr && Moves(*again);
  }

  bool Moves(const ModulePtr& other) const {
    return !SameValues(Run(candidate_.module, candidate_.arguments),
                       Run(other, candidate_.arguments));
  }

  // What an instruction of the entry takes.
  std::vector<Literal> OperandsOf(InstructionId id) const {
    if (module_[id].computation != module_.entry_id()) return {};
    Edit edit(candidate_);
    edit.SetResults(module_.operands(id));
    const auto alone = edit.Finish();
    return alone ? Run(alone->module, alone->arguments) : std::vector<Literal>();
  }

  // On the first elements, and those that are no numbers.
  bool IsIllOrdered(InstructionId id) const {
    const auto callees = module_.CalledComputations(module_[id]);
    const std::vector<Literal> operands = OperandsOf(id);
    if (callees.size() != 1 || operands.empty()) return false;
    const ModulePtr comparator = WithEntry(module_, callees[0]);
    std::vector<Point> points;
    for (const size_t at : SampledElements(operands[0])) {
      Point& point = points.emplace_back();
      for (const Literal& operand : operands) point.push_back(ElementOf(operand, at));
    }
    const size_t n = points.size();
    std::vector<char> less(n * n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        std::vector<Literal> both;
        for (size_t k = 0; k < operands.size(); ++k) {
          both.push_back(points[i][k]);
          both.push_back(points[j][k]);
        }
        const auto answer = Run(comparator, std::move(both));
        if (answer.size() != 1 || answer[0].bytes().empty()) return false;
        less[i * n + j] = answer[0].bytes()[0] != std::byte{0};
      }
    }
    const auto equal = [&](size_t i, size_t j) { return !less[i * n + j] && !less[j * n + i]; };
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (less[i * n + j] && less[j * n + i]) return true;
        for (size_t k = 0; k < n; ++k) {
          if (less[i * n + j] && less[j * n + k] && !less[i * n + k]) return true;
          if (equal(i, j) && equal(j, k) && !equal(i, k)) return true;
        }
      }
    }
    return false;
  }

  // A stable sort keeps the order of the elements that its comparator takes for equal.
  bool MovesWithTies(InstructionId id) const {
    if (module_.GetBool(module_[id], AttributeKey::kIsStable)) return false;
    const auto other = WithElementsReversed(candidate_.module, id);
    return other.has_value() && Moves(*other);
  }

  // The sort gets its elements from the last to the first.
  static Result<ModulePtr> WithElementsReversed(const ModulePtr& module, InstructionId id) {
    hlo::Rewriter rewriter(module);
    const hlo::Instruction& sort = (*module)[id];
    const std::array attributes = {rewriter.builder().MakeInts(
        AttributeKey::kDimensions, module->GetInts(sort, AttributeKey::kDimensions))};
    const auto operands = module->operands(id);
    for (uint32_t k = 0; k < operands.size(); ++k) {
      const std::array from = {operands[k]};
      rewriter.SetOperand(
          id, k,
          rewriter.Add(sort.computation, fmt::format("reversed.{}", k), Opcode::kReverse,
                       module->shape(operands[k]).WithoutLayouts(), from, attributes));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(auto made, rewriter.Finish());
    return made.module;
  }

  static std::vector<size_t> SampledElements(const Literal& array) {
    constexpr size_t kFirst = 8, kOdd = 4;
    Shape wide = array.shape().WithoutLayouts();
    wide.set_element_type(hlo::ElementType::kC128);
    const Literal numbers = eval::ConvertLiteral(array, wide);
    const auto values = numbers.data<std::complex<double>>();
    std::vector<size_t> sampled;
    size_t odd = 0;
    for (size_t i = 0; i < values.size() && odd < kOdd; ++i) {
      const bool is_odd = !std::isfinite(std::abs(values[i]));
      if (i < kFirst || is_odd) sampled.push_back(i);
      odd += is_odd && i >= kFirst ? 1 : 0;
    }
    return sampled;
  }

  static Literal ElementOf(const Literal& array, size_t at) {
    const hlo::ElementType type = array.shape().element_type();
    const auto width = static_cast<size_t>(hlo::StorageBytes(type));
    const auto bytes = array.bytes().subspan(at * width, width);
    return Literal::Dense(Shape::Scalar(type), {bytes.begin(), bytes.end()});
  }

  bool MovesWithOrder(InstructionId id) const {
    const auto other = WithUpdatesReversed(candidate_.module, {&id, 1});
    return other.has_value() && Moves(*other);
  }

  const Candidate& candidate_;
  const Module& module_;
  RunSpec request_;
  const std::stop_token& stop_;
};

}  // namespace

std::optional<Cause> OpenOrder(const Candidate& candidate,
                               std::span<const InstructionId> instructions, const RunSpec& request,
                               const std::stop_token& stop, std::span<const Literal> actual) {
  static constexpr hlo::OpcodeSet kOrdered = {Opcode::kScatter, Opcode::kSort};
  RunSpec on_reference = request;
  on_reference.reference.name = replay::ReferencePlatform().name;
  const Asker asker(candidate, on_reference, stop);
  for (const InstructionId id : instructions) {
    if (!kOrdered.Has((*candidate.module)[id].opcode)) continue;
    const auto cause = asker.Ask(id);
    if (cause && (cause != Cause::kTies || actual.empty() || asker.IsSorted(id, actual)))
      return cause;
  }
  return std::nullopt;
}

std::optional<Cause> OpenMeaning(const Candidate& candidate,
                                 std::span<const InstructionId> instructions,
                                 const RunSpec& request, const std::stop_token& stop) {
  const Asker asker(candidate, request, stop);
  for (const InstructionId id : instructions) {
    if (const auto cause = asker.Ask(id)) return cause;
  }
  return std::nullopt;
}

}  // namespace hloscope::debug
