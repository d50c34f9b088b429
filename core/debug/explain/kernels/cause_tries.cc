// The reference done otherwise, one thing at a time.
#include "core/debug/explain/kernels/cause_tries.h"

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/debug/explain/diverge/asked_products.h"
#include "core/debug/explain/diverge/conditioning.h"
#include "core/debug/explain/diverge/initial_values.h"
#include "core/debug/explain/diverge/other_rounding.h"
#include "core/debug/explain/kernels/switch_causes.h"
#include "core/eval/numbers/precise.h"

namespace hloscope::debug {

using hlo::Module;
using ModulePtr = std::shared_ptr<const Module>;

namespace {

bool HasNarrowFloats(const Module& module) {
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const hlo::Shape& shape = module.shape(hlo::InstructionId(i));
    if (!shape.IsArray() || !hlo::IsFloat(shape.element_type())) continue;
    if (hlo::Info(shape.element_type()).bits < 32) return true;
  }
  return false;
}

}  // namespace

CauseTries::CauseTries(Arrays actual, Arrays expected, const BoundsRequest& bounds)
    : CauseTries(std::move(actual), std::move(expected),
                 [bounds](size_t, const hlo::Literal& a, const hlo::Literal& e) {
                   return CompareArrays(a, e, bounds);
                 }) {}

// Says how the first array differs that does.
bool CauseTries::Agrees(const Arrays& arrays, const Arrays& expected, std::string& how) const {
  for (size_t i = 0; i < arrays.size(); ++i) {
    const LeafComparison leaf = compare_(i, arrays[i], expected[i]);
    if (leaf.equal()) continue;
    how = ErrorPhrase(leaf);
    return false;
  }
  return true;
}

void CauseTries::Note(std::string what, const Arrays& arrays, const Arrays& expected, Cause cause) {
  std::string detail;
  const bool closes = Agrees(arrays, expected, detail);
  tries_.push_back({std::move(what), closes, std::move(detail)});
  if (closes) Close(cause);
}

void CauseTries::NoteFailure(std::string what, const Error& error) {
  tries_.push_back({std::move(what), std::nullopt, error.message});
}

void CauseTries::NoteApproximations(const std::string& which, const Arrays& up,
                                    const Arrays& down) {
  bool closes = true;
  for (size_t i = 0; i < actual_.size(); ++i) {
    const hlo::Literal settled = SettledBySpread(actual_[i], expected_[i], up[i], down[i]);
    closes &= compare_(i, settled, expected_[i]).equal();
  }
  tries_.push_back(
      {fmt::format("approximate functions pushed to both ends of their documented bounds ({})",
                   which),
       closes,
       closes ? "their range includes the reference"
              : "their range does not include the reference"});
  if (closes) Close(Cause::kApproximation);
}

void CauseTries::Close(Cause cause) {
  if (!cause_) cause_ = cause;
}

void CauseTries::Attempt(const std::string& what, const Result<ModulePtr>& made, Cause cause,
                         const EvaluateModule& evaluate) {
  if (!made.has_value()) return NoteFailure(what, made.error());
  if (*made == nullptr) return;
  auto arrays = evaluate(*made);
  if (!arrays.has_value()) return NoteFailure(what, arrays.error());
  for (size_t i = 0; i < arrays->size(); ++i) {
    (*arrays)[i] = eval::ConvertLiteral((*arrays)[i], actual_[i].shape());
  }
  Note(what, actual_, *arrays, cause);
}

// XLA begins each partial result with it: as many as one more says.
void CauseTries::TryInitialValues(const std::string& where, const ModulePtr& module,
                                  const Arrays& once, const EvaluateModule& evaluate) {
  if (cause_) return;
  auto made = InitialValuesAgain(module, 1);
  if (made.has_value() && *made == nullptr) return;
  auto twice = made.has_value() ? evaluate(*made) : std::unexpected(made.error());
  if (!twice.has_value())
    return NoteFailure("the reference's initial values taken twice" + where, twice.error());
  for (size_t i = 0; i < actual_.size(); ++i) {
    if (compare_(i, actual_[i], expected_[i]).equal()) continue;
    for (const int64_t more : FurtherInitialValues(actual_[i], once[i], (*twice)[i])) {
      if (cause_) return;
      Attempt(fmt::format("the reference's initial values taken {}{}", Counted(more + 1, "time"),
                          where),
              InitialValuesAgain(module, more), Cause::kInitialValue, evaluate);
    }
  }
}

void CauseTries::TryReferences(const ModulePtr& module, const std::vector<hlo::Literal>& arguments,
                               const Evaluate& evaluate_on) {
  const EvaluateModule evaluate = [&](const ModulePtr& other) {
    return evaluate_on(other, arguments);
  };
  Attempt("the reference's sums taken in blocks", SumsInBlocks(module), Cause::kReductionOrder,
          evaluate);
  Attempt("the reference's sums taken in a tree", SumsInTree(module), Cause::kReductionOrder,
          evaluate);
  Attempt("the reference's products of the operands that their algorithm asks for",
          ProductsAsAsked(module), Cause::kDotAlgorithm, evaluate);
  Attempt("the reference's products rounded with their sums", ProductsContracted(module),
          Cause::kFma, evaluate);
  TryInitialValues("", module, expected_, evaluate);
  const ModulePtr wide = eval::WidenModule(*module);
  Attempt("the reference in double precision", wide,
          HasNarrowFloats(*module) ? Cause::kExcessPrecision : Cause::kRounding, evaluate);
  if (cause_ || wide == nullptr) return;
  // Where narrow sums drop what one more adds.
  const auto precise = evaluate(wide);
  if (precise.has_value()) TryInitialValues(", in double precision", wide, *precise, evaluate);
}

void CauseTries::TryConditioning(const ModulePtr& module,
                                 const std::vector<hlo::Literal>& arguments,
                                 const BoundsRequest& bounds, const Evaluate& evaluate) {
  if (cause_) return;
  const auto leaves_of = [](const Arrays& arrays) { return Leaves(arrays.begin(), arrays.end()); };
  const auto on = [&](const ModulePtr& other,
                      const std::vector<hlo::Literal>& others) -> Result<Leaves> {
    HLOSCOPE_ASSIGN_OR_RETURN(const Arrays arrays, evaluate(other, others));
    return leaves_of(arrays);
  };
  tries_.push_back(debug::TryConditioning(module, arguments, leaves_of(actual_),
                                          leaves_of(expected_), bounds, on));
  if (tries_.back().closes == true) Close(Cause::kIllConditioned);
}

}  // namespace hloscope::debug
