// MakeInputs: constraints gathered over the whole module, then a value per parameter leaf.
#include "core/replay/inputs/inputs.h"

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/eval/numbers/random_fill.h"
#include "core/replay/inputs/constraint_sources.h"
#include "core/replay/inputs/edge_values.h"
#include "core/replay/inputs/input_values.h"

namespace hloscope::replay {

using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Shape;

namespace {

class Generator {
 public:
  Generator(const Module& module, const InputOptions& options)
      : module_(module), options_(options), flow_(module) {
    style_.seed = options.seed;
    style_.large_floats = options.large_floats;
    style_.is_over = [this] { return !Look().has_value(); };
    if (options.zeros) return;
    AskForSoundOperands(flow_);
    AskForShortLoops(flow_);
    flow_.Settle();
    if (!options.edge_values) return;
    AskForShortLoops(needed_.emplace(module));
    needed_->Settle();
  }

  // The element of parameter `id` at `path`. Shapes nest no deeper than the reader's limit.
  Result<Literal> Make(InstructionId id, const Shape& shape, TuplePath& path) {
    if (shape.IsToken()) return Literal::Token();
    if (shape.IsTuple()) {
      std::vector<Literal> elements;
      for (size_t i = 0; i < shape.elements().size(); ++i) {
        path.push_back(static_cast<int64_t>(i));
        HLOSCOPE_ASSIGN_OR_RETURN(Literal element, Make(id, shape.elements()[i], path));
        path.pop_back();
        elements.push_back(std::move(element));
      }
      return Literal::Tuple(std::move(elements));
    }
    eval::RandomBits stream(options_.seed * 0x100000001b3u + leaf_++);
    const uint64_t first = stream.Next();
    InputConstraints zero;
    zero.range = Interval::Only(0);
    Literal array = MakeArray(shape, options_.zeros ? zero : flow_.Of(id, path), first, style_);
    HLOSCOPE_TRY(Look());
    if (!needed_) return array;
    return WithEdgeValues(array, flow_.Of(id, path), needed_->Of(id, path), stream.Next());
  }

  std::vector<std::string> Warnings() const {
    std::vector<std::string> warnings;
    for (const std::string& conflict : flow_.conflicts()) {
      warnings.push_back("constraints on generated inputs conflict: " + conflict);
    }
    return warnings;
  }

 private:
  // Died once it has to end.
  Status Look() const {
    const bool late =
        options_.budget.deadline && std::chrono::steady_clock::now() >= *options_.budget.deadline;
    if (!late && !options_.budget.stop.stop_requested()) return {};
    return std::unexpected(Error{
        late ? ErrorClass::kDeadlineExceeded : ErrorClass::kCancelled,
        late ? "the deadline passed before the inputs were generated" : "the run was cancelled",
        {},
        late ? "raise --deadline or --limit deadline" : ""});
  }

  const Module& module_;
  const InputOptions& options_;
  ConstraintFlow flow_;
  std::optional<ConstraintFlow> needed_;  // with edge values: what has to be met all the same
  ValueStyle style_;
  uint64_t leaf_ = 0;
};

// Fails where a parameter has no bytes to make, or all together take more than the limits allow.
Status CheckSizes(const Module& module, const Limits& limits) {
  int64_t total = 0;
  for (const InstructionId parameter : module.Parameters(module.entry_id())) {
    if (!parameter.valid()) return InputError("a parameter number is missing");
    for (const auto& [path, leaf] : module.shape(parameter).Leaves()) {
      if (leaf->IsToken()) continue;
      const auto bytes = leaf->ByteSize();
      if (!leaf->IsArray() || !bytes) {
        return UnsupportedError(fmt::format("{}: cannot generate a value for {}",
                                            module.name(parameter), hlo::ToString(*leaf, false)));
      }
      if (*bytes > limits.tensor_bytes) {
        return EnvironmentError(
            fmt::format("{}: an input of {}, more than the {} allowed", module.name(parameter),
                        Counted(*bytes, "byte"), limits.tensor_bytes),
            "give a smaller input, or raise --limit tensor");
      }
      if (__builtin_add_overflow(total, *bytes, &total)) total = INT64_MAX;
    }
  }
  if (total <= limits.archive_bytes) return {};
  return EnvironmentError(
      fmt::format("the inputs need {}, more than the {} allowed", Counted(total, "byte"),
                  limits.archive_bytes),
      fmt::format("give smaller inputs, or raise --limit archive to {}", total));
}

}  // namespace

Result<GeneratedInputs> MakeInputs(const Module& module, const InputOptions& options) {
  HLOSCOPE_TRY(CheckSizes(module, options.limits));
  Generator generator(module, options);
  GeneratedInputs inputs;
  for (InstructionId parameter : module.Parameters(module.entry_id())) {
    TuplePath path;
    HLOSCOPE_ASSIGN_OR_RETURN(Literal literal,
                              generator.Make(parameter, module.shape(parameter), path));
    inputs.literals.push_back(std::move(literal));
  }
  inputs.warnings = generator.Warnings();
  return inputs;
}

}  // namespace hloscope::replay
