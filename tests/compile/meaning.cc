// Evaluating a module and what it is compiled to.
#include "tests/compile/meaning.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "core/debug/compare/compare_values.h"
#include "core/eval/machine/evaluator.h"
#include "core/replay/inputs/inputs.h"

namespace hloscope::compile {
namespace {

using Clock = std::chrono::steady_clock;

Result<hlo::Literal> Run(const hlo::Module& module, std::span<const hlo::Literal> inputs,
                         double deadline_s) {
  eval::EvaluateOptions options;
  options.fill_elided = 1;
  options.deadline =
      Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(1000 * deadline_s));
  HLOSCOPE_ASSIGN_OR_RETURN(const eval::Evaluation evaluation,
                            eval::Evaluate(module, inputs, options));
  return evaluation.result.ToLiteral();
}

}  // namespace

Meaning CompareMeaning(const std::shared_ptr<const hlo::Module>& module, CompileOptions options,
                       uint64_t seed, double deadline_s) {
  Meaning meaning;
  // Once timed, once with the verifier behind every pass.
  // Processor time: other processes do not count.
  const std::clock_t begin = std::clock();
  Result<Compilation> compiled = Compile(module, options);
  meaning.compile_ms = 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  options.verify = true;
  if (compiled) compiled = Compile(module, options);
  if (!compiled) {
    meaning.problem = compiled.error().message;
    return meaning;
  }
  meaning.compilation = std::move(*compiled);
  if (deadline_s == 0) return meaning;
  replay::InputOptions input_options;
  input_options.seed = seed;
  const auto inputs = replay::MakeInputs(*module, input_options);
  if (!inputs) {
    meaning.why_not = inputs.error().message;
    return meaning;
  }
  const auto expected = Run(*module, inputs->literals, deadline_s);
  if (!expected) {
    meaning.why_not = expected.error().message;
    return meaning;
  }
  meaning.was_run = true;
  const auto actual = Run(*meaning.compilation.module, inputs->literals, 10 * deadline_s);
  if (!actual) {
    meaning.problem = actual.error().message;
    return meaning;
  }
  meaning.same_bits = true;
  for (const auto& leaf : debug::CompareLiterals(*actual, *expected, {})) {
    meaning.same_bits &= leaf.same_bits;
    if (leaf.equal()) continue;
    std::string index;
    for (const int64_t i : leaf.index) index += fmt::format("{},", i);
    meaning.problem = fmt::format(
        "result {{{}}} {}: {} of {} elements differ {}", index, hlo::ToString(leaf.shape, false),
        leaf.mismatched, leaf.elements,
        leaf.first_mismatch ? fmt::format("(first {} instead of {})", leaf.first_mismatch->actual,
                                          leaf.first_mismatch->expected)
                            : leaf.problem);
    return meaning;
  }
  return meaning;
}

}  // namespace hloscope::compile
