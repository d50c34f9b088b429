// Callbacks are custom calls; their tokens are bridged, other results are used by nobody.
#include "core/debug/run/skip_callbacks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/analysis/place/placement.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::debug {
namespace {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Rewriter;
using hlo::Shape;

// Tokens and empty tuples carry nothing.
bool CarriesValues(const Shape& shape) {
  std::vector<const Shape*> pending = {&shape};
  while (!pending.empty()) {
    const Shape& next = *pending.back();
    pending.pop_back();
    if (next.IsTuple()) {
      for (const Shape& element : next.elements()) pending.push_back(&element);
    } else if (!next.IsToken()) {
      return true;
    }
  }
  return false;
}

class Skipper {
 public:
  explicit Skipper(std::shared_ptr<const Module> module)
      : module_(std::move(module)), rewriter_(module_) {}

  Result<WithoutCallbacks> Run() {
    WithoutCallbacks out{module_, {}};
    for (uint32_t i = 0; i < module_->instructions().size(); ++i) {
      const InstructionId id(i);
      const hlo::Instruction& call = (*module_)[id];
      if (call.opcode != Opcode::kCustomCall) continue;
      if (!analysis::IsHostCallback(module_->GetString(call, hlo::AttributeKey::kCustomCallTarget)))
        continue;
      HLOSCOPE_TRY(Skip(id));
      out.skipped.emplace_back(module_->name(id));
    }
    if (out.skipped.empty()) return out;
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult rewritten, rewriter_.Finish());
    out.module = std::move(rewritten.module);
    return out;
  }

 private:
  Status Skip(InstructionId id) {
    const bool is_root = rewriter_.root(rewriter_.computation(id)) == id;
    if (!CarriesValues(module_->shape(id))) {
      if (is_root || rewriter_.has_users(id)) {
        rewriter_.ReplaceAllUses(id, Nothing(id, module_->shape(id)));
      }
      rewriter_.Remove(id);
      return {};
    }
    if (is_root) return Used(id, "a result of " + ComputationName(id));
    for (const InstructionId user : rewriter_.users(id)) {
      if (rewriter_.removed(user)) continue;
      if (rewriter_.opcode(user) != Opcode::kGetTupleElement) return Used(id, NameOf(user));
      HLOSCOPE_TRY(SkipElement(id, user));
    }
    rewriter_.Remove(id);
    return {};
  }

  // An element of what the callback returns.
  Status SkipElement(InstructionId id, InstructionId element) {
    const bool is_root = rewriter_.root(rewriter_.computation(element)) == element;
    if (CarriesValues(rewriter_.shape(element))) {
      if (is_root) return Used(id, "a result of " + ComputationName(id));
      if (rewriter_.has_users(element)) return Used(id, NameOf(rewriter_.users(element).front()));
    } else if (is_root || rewriter_.has_users(element)) {
      const Shape shape = rewriter_.shape(element);
      rewriter_.ReplaceAllUses(element, Nothing(id, shape));
    }
    rewriter_.Remove(element);
    return {};
  }

  // A value of a shape that carries none, made in the computation of `id`: the token that came in,
  // or a new one.
  InstructionId Nothing(InstructionId id, const Shape& shape) {
    const ComputationId computation = rewriter_.computation(id);
    if (shape.IsToken()) {
      for (const InstructionId operand : rewriter_.operands(id)) {
        if (rewriter_.shape(operand).IsToken()) return operand;
      }
      return rewriter_.Add(computation, "after-all", Opcode::kAfterAll, shape, {});
    }
    std::vector<InstructionId> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Nothing(id, element));
    return rewriter_.Add(computation, "tuple", Opcode::kTuple, shape, elements);
  }

  Status Used(InstructionId id, const std::string& user) const {
    return UnsupportedError(
        fmt::format("{}: a host callback whose result is used, by {}: it cannot be skipped, its "
                    "function is not in the dump",
                    module_->name(id), user),
        "pass its results as inputs to the part after it, or run the program itself");
  }
  std::string NameOf(InstructionId id) const { return std::string(rewriter_.name(id)); }
  std::string ComputationName(InstructionId id) const {
    return std::string((*module_)[(*module_)[(*module_)[id].computation].name]);
  }

  std::shared_ptr<const Module> module_;
  Rewriter rewriter_;
};

}  // namespace

Result<WithoutCallbacks> SkipCallbacks(std::shared_ptr<const Module> module) {
  return Skipper(std::move(module)).Run();
}

std::string SkippedText(const std::vector<std::string>& skipped) {
  if (skipped.empty()) return {};
  constexpr size_t kMaxNamed = 5;
  const size_t named = std::min(kMaxNamed, skipped.size());
  const bool is_one = skipped.size() == 1;
  std::string text = fmt::format(
      "skipped {}: {}",
      is_one ? "a host callback" : fmt::format("{} host callbacks", skipped.size()),
      fmt::join(skipped.begin(), skipped.begin() + static_cast<ptrdiff_t>(named), ", "));
  if (named < skipped.size()) text += fmt::format(" and {} more", skipped.size() - named);
  return text + (is_one ? "; its result is unused" : "; their results are unused");
}

}  // namespace hloscope::debug
