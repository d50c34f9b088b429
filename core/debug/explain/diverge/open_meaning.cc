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
#include <utility>
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
using Row = std::vector<std::byte>;  // an element of each array

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

  // What is known of the cause from what the platform made of the entry; empty: it is not that.
  std::optional<OpenCause> Hold(InstructionId id, Cause cause,
                                std::span<const Literal> actual) const {
    if (cause != Cause::kTies) return OpenCause{cause, true};
    const std::optional<bool> holds = DiffersByTies(id, actual);
    return holds == false ? std::nullopt : std::optional(OpenCause{cause, holds == true});
  }

 private:
  // Empty where it cannot be run.
  std::vector<Literal> Run(const ModulePtr& module, std::vector<Literal> arguments) const {
    RunSpec own = request_;
    own.inputs.arguments = std::move(arguments);
    return ResultLeaves(RunModule(module, own, stop_));
  }

  bool SameValues(const std::vector<Literal>& a, const std::vector<Literal>& b) const {
    if (a.size() != b.size()) return true;  // nothing is known
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].shape().IsArray() && !CompareArrays(a[i], b[i], request_.compare.bounds).equal())
        return false;
    }
    return true;
  }

  bool BreaksMonoid(InstructionId id) const {
    const auto callees = module_.CalledComputations(module_[id]);
    if (callees.empty()) return false;
    const ModulePtr combiner = WithEntry(module_, callees.back());
    // Whole numbers so small that no law breaks by rounding.
    constexpr std::array<double, 6> kWhole = {0, 1, 2, 4, 3, 5};
    if (BreaksMonoidOn(combiner, kWhole)) return true;
    // What is rounded inside, to another type or to a whole number, shows with others; where the
    // type itself is wide enough not to round them.
    const auto is_wide = [&](InstructionId parameter) {
      const hlo::ElementType type = combiner->shape(parameter).element_type();
      return type == hlo::ElementType::kF32 || type == hlo::ElementType::kF64;
    };
    constexpr std::array<double, 6> kOthers = {0.6, 0.7, 1.3, 300.3, 2.7, 40.6};
    return std::ranges::all_of(combiner->Parameters(combiner->entry_id()), is_wide) &&
           BreaksMonoidOn(combiner, kOthers);
  }

  bool BreaksMonoidOn(const ModulePtr& combiner, const std::array<double, 6>& values) const {
    const auto parameters = combiner->Parameters(combiner->entry_id());
    const size_t arrays = parameters.size() / 2;
    if (arrays == 0) return false;
    // Equal values with other partners too, as of a maximum and its place.
    constexpr std::array<size_t, 6> kFirst = {0, 1, 1, 2, 3, 4}, kOther = {0, 1, 2, 3, 4, 5};
    std::vector<Point> points;
    for (size_t k = 0; k < kFirst.size(); ++k) {
      Point& point = points.emplace_back();
      for (size_t i = 0; i < arrays; ++i) {
        point.push_back(
            ScalarOf(values[i == 0 ? kFirst[k] : kOther[k]], combiner->shape(parameters[i])));
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
    return ValuesOf(id, module_.operands(id));
  }

  // The leaves of instructions of the entry, of which `id` is one.
  std::vector<Literal> ValuesOf(InstructionId id, std::span<const InstructionId> which) const {
    if (module_[id].computation != module_.entry_id()) return {};
    Edit edit(candidate_);
    edit.SetResults(which);
    const auto alone = edit.Finish();
    return alone ? Run(alone->module, alone->arguments) : std::vector<Literal>();
  }

  // On the first elements, and those that are no numbers.
  bool IsIllOrdered(InstructionId id) const {
    const auto callees = module_.CalledComputations(module_[id]);
    const std::vector<Literal> operands = OperandsOf(id);
    if (callees.size() != 1 || operands.empty()) return false;
    const ModulePtr comparator = WithEntry(module_, callees[0]);
    const std::vector<size_t> sampled = SampledElements(operands[0]);
    const size_t n = sampled.size();
    std::vector<char> less(n * n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        const auto is_less = IsLess(comparator, operands, sampled[i], sampled[j]);
        if (!is_less) return false;
        less[i * n + j] = *is_less;
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

  // Which array of the sort each leaf of the entry is; empty where one is something else.
  std::vector<size_t> ArraysOfSort(InstructionId sort) const {
    std::vector<size_t> arrays;
    const auto add = [&](InstructionId id) {
      if (id == sort) {
        for (size_t k = 0; k < module_.operands(sort).size(); ++k) arrays.push_back(k);
        return true;
      }
      const bool is_one =
          module_[id].opcode == Opcode::kGetTupleElement && module_.operands(id)[0] == sort;
      if (is_one)
        arrays.push_back(static_cast<size_t>(module_.GetInt(module_[id], AttributeKey::kIndex)));
      return is_one;
    };
    const InstructionId root = module_.entry().root;
    const bool is_tuple = module_[root].opcode == Opcode::kTuple;
    const bool is_all = is_tuple ? std::ranges::all_of(module_.operands(root), add) : add(root);
    return is_all ? arrays : std::vector<size_t>();
  }

  // Whether `actual` has other rows than the reference, and these only among elements that the
  // comparator takes for equal; empty where that cannot be told.
  std::optional<bool> DiffersByTies(InstructionId sort, std::span<const Literal> actual) const {
    const std::vector<size_t> arrays = ArraysOfSort(sort);
    const auto callees = module_.CalledComputations(module_[sort]);
    if (arrays.empty() || arrays.size() != actual.size() || callees.size() != 1) return {};
    const std::vector<Literal> expected = ValuesOf(sort, {&sort, 1});
    if (expected.size() != module_.operands(sort).size()) return {};
    for (size_t k = 0; k < arrays.size(); ++k) {
      const Literal& other = expected[arrays[k]];
      if (actual[k].bytes().size() != other.bytes().size() ||
          actual[k].shape().element_type() != other.shape().element_type())
        return {};
    }
    const auto element = [](const Literal& array, size_t at) {
      const auto width = static_cast<size_t>(hlo::StorageBytes(array.shape().element_type()));
      return array.bytes().subspan(at * width, width);
    };
    const auto is_same_row = [&](size_t at) {
      for (size_t k = 0; k < arrays.size(); ++k) {
        if (!std::ranges::equal(element(actual[k], at), element(expected[arrays[k]], at)))
          return false;
      }
      return true;
    };
    const Shape& shape = expected[0].shape();
    if (shape.has_dynamic_dimension()) return {};
    const auto dimensions = module_.GetInts(module_[sort], AttributeKey::kDimensions);
    if (dimensions.size() != 1) return {};
    const auto along = static_cast<size_t>(dimensions[0]);
    const auto elements = static_cast<size_t>(shape.ElementCount().value_or(0));
    const auto length = static_cast<size_t>(shape.dimension(along));
    size_t stride = 1;
    for (size_t d = along + 1; d < shape.rank(); ++d)
      stride *= static_cast<size_t>(shape.dimension(d));
    const ModulePtr comparator = WithEntry(module_, callees[0]);
    bool any = false;
    size_t asked = 0;
    for (size_t line = 0; line * length < elements; ++line) {
      const size_t first = line / stride * stride * length + line % stride;
      std::vector<Row> is, meant;  // the rows that differ, of elements that are equal
      std::optional<size_t> before;
      const auto is_same_set = [&] {
        std::ranges::sort(is);
        std::ranges::sort(meant);
        return std::exchange(is, {}) == std::exchange(meant, {});
      };
      for (size_t k = 0; k < length; ++k) {
        const size_t at = first + k * stride;
        if (is_same_row(at)) continue;
        any = true;
        if (before) {
          constexpr size_t kMaxAsked = 4096;
          if (++asked > kMaxAsked || stop_.stop_requested()) return {};
          const std::optional<bool> is_less = IsLess(comparator, expected, *before, at);
          if (!is_less) return {};
          if (*is_less && !is_same_set()) return IfExact(sort);
        }
        before = at;
        Row& a = is.emplace_back();
        Row& e = meant.emplace_back();
        for (size_t i = 0; i < arrays.size(); ++i) {
          const auto is_bytes = element(actual[i], at),
                     meant_bytes = element(expected[arrays[i]], at);
          a.insert(a.end(), is_bytes.begin(), is_bytes.end());
          e.insert(e.end(), meant_bytes.begin(), meant_bytes.end());
        }
      }
      if (!is_same_set()) return IfExact(sort);
    }
    return any;
  }

  // That rows differ otherwise, where no rounding before the sort may have made them.
  std::optional<bool> IfExact(InstructionId sort) const {
    static constexpr hlo::OpcodeSet kExact = {Opcode::kParameter, Opcode::kConstant, Opcode::kIota};
    const bool is_exact = std::ranges::all_of(
        module_.operands(sort), [&](InstructionId id) { return kExact.Has(module_[id].opcode); });
    return is_exact ? std::optional(false) : std::nullopt;
  }

  std::optional<bool> IsLess(const ModulePtr& comparator, const std::vector<Literal>& arrays,
                             size_t one, size_t other) const {
    std::vector<Literal> both;
    for (const Literal& array : arrays) {
      both.push_back(ElementOf(array, one));
      both.push_back(ElementOf(array, other));
    }
    const auto answer = Run(comparator, std::move(both));
    if (answer.size() != 1 || answer[0].bytes().empty()) return std::nullopt;
    return answer[0].bytes()[0] != std::byte{0};
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

// One that is shown, else the first.
std::optional<OpenCause> FirstShown(const Asker& asker, std::span<const InstructionId> instructions,
                                    std::span<const Literal> actual) {
  std::optional<OpenCause> first;
  for (const InstructionId id : instructions) {
    const auto cause = asker.Ask(id);
    const auto held = cause ? asker.Hold(id, *cause, actual) : std::nullopt;
    if (held && held->is_shown) return held;
    if (!first) first = held;
  }
  return first;
}

}  // namespace

std::optional<OpenCause> OpenOrder(const Candidate& candidate,
                                   std::span<const InstructionId> instructions,
                                   const RunSpec& request, const std::stop_token& stop,
                                   std::span<const Literal> actual) {
  static constexpr hlo::OpcodeSet kOrdered = {Opcode::kScatter, Opcode::kSort};
  RunSpec on_reference = request;
  on_reference.reference.name = replay::ReferencePlatform().name;
  std::vector<InstructionId> ordered;
  for (const InstructionId id : instructions) {
    if (kOrdered.Has((*candidate.module)[id].opcode)) ordered.push_back(id);
  }
  return FirstShown(Asker(candidate, on_reference, stop), ordered, actual);
}

std::optional<OpenCause> OpenMeaning(const Candidate& candidate,
                                     std::span<const InstructionId> instructions,
                                     const RunSpec& request, const std::stop_token& stop,
                                     std::span<const Literal> actual) {
  return FirstShown(Asker(candidate, request, stop), instructions, actual);
}

std::vector<Literal> ResultLeaves(const RunReport& report) {
  std::vector<Literal> results;
  for (const RunOutput& output : report.outputs) {
    if (output.missing || report.error) return {};
    results.push_back(output.value);
  }
  return results;
}

}  // namespace hloscope::debug
