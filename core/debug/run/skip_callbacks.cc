// Callbacks are custom calls; their tokens are bridged, other results are unused.
#include "core/debug/run/skip_callbacks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/analysis/place/placement.h"
#include "core/base/counted.h"
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
    WithoutCallbacks out{module_, {}, {}};
    std::vector<InstructionId> left = Callbacks();
    // One may be used only by another that is skipped.
    for (bool changed = true; changed;) {
      const size_t skipped = std::erase_if(left, [&](InstructionId id) {
        if (UserOf(id)) return false;
        Skip(id);
        out.skipped.emplace_back(module_->name(id));
        return true;
      });
      changed = skipped > 0;
    }
    for (const InstructionId id : left) {
      out.kept.push_back({std::string(module_->name(id)), *UserOf(id)});
    }
    if (out.skipped.empty()) return out;
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult rewritten, rewriter_.Finish());
    out.module = std::move(rewritten.module);
    return out;
  }

 private:
  std::vector<InstructionId> Callbacks() const {
    std::vector<InstructionId> all;
    for (uint32_t i = 0; i < module_->instructions().size(); ++i) {
      const InstructionId id(i);
      if (analysis::IsHostCallback(*module_, (*module_)[id])) all.push_back(id);
    }
    return all;
  }

  bool IsRoot(InstructionId id) const { return rewriter_.root(rewriter_.computation(id)) == id; }

  // What uses a value that the callback returns; nullopt: nothing does.
  std::optional<std::string> UserOf(InstructionId id) const {
    if (!CarriesValues(module_->shape(id))) return std::nullopt;
    const std::string result = "a result of " + ComputationName(id);
    if (IsRoot(id)) return result;
    for (const InstructionId user : rewriter_.users(id)) {
      if (rewriter_.removed(user)) continue;
      if (rewriter_.opcode(user) != Opcode::kGetTupleElement) return NameOf(user);
      if (!CarriesValues(rewriter_.shape(user))) continue;
      if (IsRoot(user)) return result;
      if (rewriter_.has_users(user)) return NameOf(rewriter_.users(user).front());
    }
    return std::nullopt;
  }

  // Of a callback whose values nothing uses.
  void Skip(InstructionId id) {
    if (CarriesValues(module_->shape(id))) {
      for (const InstructionId element : rewriter_.users(id)) {
        if (!rewriter_.removed(element)) Bridge(id, element);
      }
      rewriter_.Remove(id);
    } else {
      Bridge(id, id);
    }
  }

  // Drops the callback, or an element of what it returns.
  void Bridge(InstructionId id, InstructionId value) {
    const Shape shape = rewriter_.shape(value);
    if (!CarriesValues(shape) && (IsRoot(value) || rewriter_.has_users(value))) {
      rewriter_.ReplaceAllUses(value, Nothing(id, shape));
    }
    rewriter_.Remove(value);
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

std::vector<std::string> KeptTexts(const std::vector<KeptCallback>& kept) {
  constexpr size_t kMaxNamed = 5;
  std::vector<std::string> texts;
  for (const KeptCallback& one : kept) {
    if (texts.size() == kMaxNamed) break;
    texts.push_back(fmt::format(
        "{}: a host callback whose result is used, by {}: it is not skipped, and an error where it "
        "is executed, for its function is not in the dump",
        one.name, one.user));
  }
  if (kept.size() > kMaxNamed) {
    texts.push_back(fmt::format("{} are not skipped either: their results are used",
                                Counted(kept.size() - kMaxNamed, "more host callback")));
  }
  return texts;
}

}  // namespace hloscope::debug
