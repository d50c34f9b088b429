// CauseTries: what was switched in a run or in what it is held to, and what of it closes the gap.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/compare/compare_values.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

using Arrays = std::vector<hlo::Literal>;

class CauseTries {
 public:
  // The results of a module on arguments, array by array, on the reference.
  using Evaluate = std::function<Result<Arrays>(const std::shared_ptr<const hlo::Module>&,
                                                const std::vector<hlo::Literal>&)>;
  // How an array of the results compares, by its number.
  using Compare = std::function<LeafComparison(size_t, const hlo::Literal&, const hlo::Literal&)>;

  // `actual` and `expected` are as many arrays of the same shapes, which differ.
  CauseTries(Arrays actual, Arrays expected, Compare compare)
      : actual_(std::move(actual)), expected_(std::move(expected)), compare_(std::move(compare)) {}
  CauseTries(Arrays actual, Arrays expected, const BoundsRequest& bounds);

  const Arrays& actual() const { return actual_; }
  const Arrays& expected() const { return expected_; }

  // Whether `arrays` agree with `expected`.
  void Note(std::string what, const Arrays& arrays, const Arrays& expected, Cause cause);
  // It could not be tried.
  void NoteFailure(std::string what, const Error& error);
  // Closes the gap if what approximate functions move between both ends of their bounds reaches the
  // reference, element by element. `which`: in words, how many or where.
  void NoteApproximations(const std::string& which, const Arrays& up, const Arrays& down);
  void Add(DivergeTry attempt) { tries_.push_back(std::move(attempt)); }
  // The first that closes the gap is the cause.
  void Close(Cause cause);

  // `module`, whose results on `arguments` are `expected`, done otherwise: sums in blocks and in a
  // tree, products rounded with their sums, initial values taken more often, double precision.
  void TryReferences(const std::shared_ptr<const hlo::Module>& module,
                     const std::vector<hlo::Literal>& arguments, const Evaluate& evaluate);
  // Its arguments moved by one ULP (diverge/conditioning.h), unless a cause is known.
  void TryConditioning(const std::shared_ptr<const hlo::Module>& module,
                       const std::vector<hlo::Literal>& arguments, const BoundsRequest& bounds,
                       const Evaluate& evaluate);

  const std::optional<Cause>& cause() const { return cause_; }
  std::vector<DivergeTry> Take() { return std::move(tries_); }

 private:
  using EvaluateModule = std::function<Result<Arrays>(const std::shared_ptr<const hlo::Module>&)>;

  void Attempt(const std::string& what, const Result<std::shared_ptr<const hlo::Module>>& made,
               Cause cause, const EvaluateModule& evaluate);
  void TryInitialValues(const std::string& where, const std::shared_ptr<const hlo::Module>& module,
                        const Arrays& once, const EvaluateModule& evaluate);
  bool Agrees(const Arrays& arrays, const Arrays& expected, std::string& how) const;

  Arrays actual_, expected_;
  Compare compare_;
  std::optional<Cause> cause_;
  std::vector<DivergeTry> tries_;
};

}  // namespace hloscope::debug
