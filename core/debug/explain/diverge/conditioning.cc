#include "core/debug/explain/diverge/conditioning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "core/base/counted.h"
#include "core/base/quick_hash.h"
#include "core/debug/explain/diverge/moved_functions.h"
#include "core/eval/numbers/precise.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/float_types.h"

namespace hloscope::debug {

using hlo::ElementType;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;

namespace {

// The step of the finest type in which the module computes; 0: in none.
double FinestStep(const Module& module) {
  double finest = 0;
  for (const hlo::Instruction& instruction : module.instructions()) {
    const bool computes = instruction.opcode != Opcode::kParameter &&
                          instruction.opcode != Opcode::kConstant &&
                          instruction.opcode != Opcode::kConvert &&
                          hlo::Info(instruction.opcode).category != hlo::Category::kDataMovement;
    if (!computes || !module[instruction.shape].IsArray()) continue;
    const double step = StepOf(module[instruction.shape].element_type());
    if (step > 0 && (finest == 0 || step < finest)) finest = step;
  }
  return finest;
}

// What is chosen (an index, the order of a sort) changes under few of the moves: several are tried,
// each with its own signs.
constexpr uint64_t kFirstPattern = 0, kPatterns = 4, kArgumentsOfPattern = uint64_t{1} << 32;
// Where that leaves elements that hardly move, which are a fault in addition to what is uncertain
// unless the signs had them stay by chance.
constexpr uint64_t kMaxPatterns = 12;
constexpr double kHardly = 16;        // a move that much smaller than the difference
constexpr size_t kLeftByChance = 64;  // of so many elements one

// The finite numbers of `bytes`, by what they are moved: to their neighbours, where `step` is that
// of the type.
template <typename T>
void MoveNumbers(std::vector<std::byte>& bytes, ElementType type, uint64_t argument, bool up,
                 double step) {
  const size_t width = sizeof(T);
  for (size_t i = 0; i < bytes.size() / width; ++i) {
    std::byte* const at = bytes.data() + i * width;
    T bits;
    std::memcpy(&bits, at, width);
    const auto magnitude = static_cast<T>(bits & static_cast<T>(~T{0} >> 1));
    double value = 0;
    eval::LoadAs(type, at, &value, 1);
    if (magnitude == 0 || !std::isfinite(value)) continue;
    const bool away = MovesAway(argument, i, up);
    if (step > 0) {
      value *= away ? 1 + step : 1 - step;
      eval::StoreFrom(type, &value, at, 1);
      continue;
    }
    bits = static_cast<T>(away ? bits + 1 : bits - 1);
    eval::LoadAs(type, reinterpret_cast<const std::byte*>(&bits), &value, 1);
    if (std::isfinite(value)) std::memcpy(at, &bits, width);
  }
}

// `step` 0: each to its neighbour.
Literal Moved(const Literal& literal, uint64_t argument, bool up, double coarsest, double step) {
  if (literal.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : literal.elements()) {
      elements.push_back(Moved(element, MixKeys(argument, elements.size()), up, coarsest, step));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (!literal.shape().IsArray() || literal.elided()) return literal;
  const ElementType type = hlo::RealPart(literal.shape().element_type());
  const double own = StepOf(type);
  if (own == 0 || own > coarsest) return literal;
  std::vector<std::byte> bytes(literal.bytes().begin(), literal.bytes().end());
  switch (hlo::StorageBytes(type)) {
    case 8:
      MoveNumbers<uint64_t>(bytes, type, argument, up, step);
      break;
    case 4:
      MoveNumbers<uint32_t>(bytes, type, argument, up, step);
      break;
    case 2:
      MoveNumbers<uint16_t>(bytes, type, argument, up, step);
      break;
    default:
      return literal;
  }
  Literal moved = Literal::Dense(literal.shape(), std::move(bytes));
  const auto sizes = literal.dynamic_sizes();
  moved.set_dynamic_sizes({sizes.begin(), sizes.end()});
  return moved;
}

std::vector<Literal> AllMoved(const std::vector<Literal>& arguments, bool up, double coarsest,
                              double step, uint64_t pattern = kFirstPattern) {
  std::vector<Literal> moved;
  for (const Literal& argument : arguments) {
    const uint64_t number = pattern * kArgumentsOfPattern + moved.size();
    moved.push_back(Moved(argument, number, up, coarsest, step));
  }
  return moved;
}

// Whether some float is of a type with a step in that range.
bool HasSteps(std::span<const Literal> arguments, double above, double most) {
  return std::ranges::any_of(arguments, [&](const Literal& argument) {
    const auto leaves = argument.shape().LeafShapes();
    return std::ranges::any_of(leaves, [&](const hlo::Shape* shape) {
      const double step = shape->IsArray() ? StepOf(shape->element_type()) : 0;
      return step > above && step <= most;
    });
  });
}

// How far each element of the gaps may be off.
class Uncertainty {
 public:
  Uncertainty(const std::shared_ptr<const Module>& module, const std::vector<Literal>& arguments,
              const Leaves& expected, const Gaps& gaps, const EvaluateOn& evaluate)
      : module_(module),
        arguments_(arguments),
        expected_(expected),
        gaps_(gaps),
        evaluate_(evaluate),
        step_(FinestStep(*module)),
        moves_(gaps.elements().size(), 0) {}

  double step() const { return step_; }
  const std::vector<double>& moves() const { return moves_; }

  // By what inputs move. The error of the first run that fails, if all do.
  Status Measure() {
    if (step_ == 0) return {};
    const bool is_choice = std::ranges::any_of(gaps_.elements(), &Gaps::Element::is_choice);
    for (const uint64_t end = is_choice ? kPatterns : 1; next_ < end;) MoveInputs(next_++);
    // What is coarser than the module computes moves by less than its own step in double precision
    // alone. Values are rounded there where the module asks for it.
    wide_ = eval::WidenModule(*module_, eval::Roundings::kAsked, eval::EntryTypes::kWide);
    for (const Literal& argument : arguments_) {
      widened_.push_back(eval::ConvertLiteral(argument, eval::WidenedShape(argument.shape())));
    }
    base_ = evaluate_(wide_, widened_);
    // What overflows in the module's own types and not there is off by its range, not by roundings.
    constexpr double kFinite = std::numeric_limits<double>::max();
    Take(base_, expected_, kFinite);
    MoveCoarseInputs(kFirstPattern);
    return taken_ > 0 || !failed_ ? Status() : std::unexpected(*failed_);
  }

  // By what the roundings of functions move in addition. False: there are none.
  bool MeasureFunctions() {
    for (uint64_t pattern = kFirstPattern; pattern < kPatterns; ++pattern) {
      if (!MoveFunctions(pattern)) break;
    }
    return moves_functions_;
  }

  // Whether elements are left, more than chance leaves, that hardly move under many patterns of
  // signs: what they differ by is no uncertainty.
  bool LeavesSome() {
    while (CountLeft() > gaps_.elements().size() / kLeftByChance) {
      if (next_ >= kMaxPatterns) return true;
      MoveInputs(next_);
      MoveCoarseInputs(next_);
      if (moves_functions_) MoveFunctions(next_ + kPatterns);
      ++next_;
    }
    return false;
  }
  size_t CountLeft() const {
    size_t left = 0;
    for (size_t i = 0; i < moves_.size(); ++i) {
      const Gaps::Element& element = gaps_.elements()[i];
      left += element.is_choice ? moves_[i] == 0 : kHardly * moves_[i] < element.distance;
    }
    return left;
  }

 private:
  void MoveInputs(uint64_t pattern) {
    if (!HasSteps(arguments_, 0, step_)) return;
    for (const bool up : {true, false})
      Take(evaluate_(module_, AllMoved(arguments_, up, step_, 0, pattern)), expected_);
  }
  void MoveCoarseInputs(uint64_t pattern) {
    if (!base_.has_value() || !HasSteps(arguments_, step_, 1)) return;
    for (const bool up : {true, false})
      Take(evaluate_(wide_, AllMoved(widened_, up, 1, step_, pattern)), *base_);
  }
  // False: there are no functions.
  bool MoveFunctions(uint64_t pattern) {
    for (const bool up : {true, false}) {
      const auto moved = FunctionsMoved(module_, pattern * kArgumentsOfPattern, up);
      if (!moved.has_value() || *moved == nullptr) return false;
      Take(evaluate_(*moved, arguments_), expected_);
      moves_functions_ = true;
    }
    return true;
  }

  // Moves above `most` are passed over.
  void Take(const Result<Leaves>& moved, const Leaves& base,
            double most = std::numeric_limits<double>::infinity()) {
    if (!moved.has_value()) {
      if (!failed_) failed_ = moved.error();
      return;
    }
    ++taken_;
    const std::vector<double> moves = gaps_.MovesIn(*moved, base);
    for (size_t i = 0; i < moves.size(); ++i) {
      if (moves[i] <= most) moves_[i] = std::max(moves_[i], moves[i]);
    }
  }

  const std::shared_ptr<const Module>& module_;
  const std::vector<Literal>& arguments_;
  const Leaves& expected_;
  const Gaps& gaps_;
  const EvaluateOn& evaluate_;
  double step_;
  std::vector<double> moves_;
  // In double precision, where inputs that are coarser than the module computes move.
  std::shared_ptr<const Module> wide_;
  std::vector<Literal> widened_;
  Result<Leaves> base_;
  uint64_t next_ = kFirstPattern;  // pattern of the inputs
  bool moves_functions_ = false;
  int taken_ = 0;
  std::optional<Error> failed_;
};

// Whether what moves explains the gaps, where so many sides are off by all of it; how far it moves
// at most.
struct Explained {
  bool closes = false;
  double most = 0;
};
Explained Explain(const Gaps& gaps, const Uncertainty& uncertainty, double steps, double sides) {
  Explained explained;
  size_t reached = 0, amplified = 0;
  double to_explain = 0, moved = 0;
  for (size_t i = 0; i < gaps.elements().size(); ++i) {
    const Gaps::Element& element = gaps.elements()[i];
    const double move = uncertainty.moves()[i];
    explained.most = std::max(explained.most, move);
    if (element.is_choice) {  // another choice is as uncertain however far it is
      reached += move > 0 ? 1 : 0;
      amplified += move > 0 ? 1 : 0;
      continue;
    }
    // Each side may be off by that much.
    if (2 * move >= element.distance) ++reached;
    if (move > steps * uncertainty.step() * element.magnitude) ++amplified;
    if (std::isinf(element.distance)) continue;
    to_explain += element.distance;
    moved += std::isinf(move) ? element.distance : move;
  }
  const size_t half = (gaps.elements().size() + 1) / 2;
  explained.closes = !gaps.elements().empty() && reached >= half && amplified >= half &&
                     sides * moved >= to_explain;
  return explained;
}

}  // namespace

DivergeTry TryConditioning(const std::shared_ptr<const Module>& module,
                           const std::vector<Literal>& arguments, const Leaves& actual,
                           const Leaves& expected, const BoundsRequest& bounds,
                           const EvaluateOn& evaluate, double steps) {
  DivergeTry attempt{"inputs moved by one ULP of the finest type, on the reference", {}, ""};
  const Gaps gaps(actual, expected, bounds);
  Uncertainty uncertainty(module, arguments, expected, gaps, evaluate);
  const Status measured = uncertainty.Measure();
  if (!measured) {
    attempt.detail = measured.error().message;
    return attempt;
  }
  Explained explained = Explain(gaps, uncertainty, steps, 1);
  if (!explained.closes && MakesChoices(*module) && uncertainty.MeasureFunctions()) {
    // Another choice is no further away than what differs: none may be missed otherwise.
    explained = Explain(gaps, uncertainty, steps, 2);
    if (explained.closes) attempt.what = "results of functions moved by one ULP, on the reference";
  }
  const bool leaves_some = explained.closes && uncertainty.LeavesSome();
  attempt.closes = explained.closes && !leaves_some;
  attempt.detail = fmt::format("what differs by up to {:.3g} moves by up to {:.3g}", gaps.largest(),
                               explained.most);
  if (leaves_some) {
    attempt.detail += fmt::format(", but {} of {} that differ hardly move", uncertainty.CountLeft(),
                                  Counted(gaps.elements().size(), "element"));
  }
  return attempt;
}

}  // namespace hloscope::debug
