// Runs of elements that are printable characters are redacted as texts to see what they hold.
#include "core/debug/bundle/spelled_secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/hlo/literal.h"

namespace hloscope::debug {
namespace {

bool HasSecret(const std::string& run, const Redactor& redactor) {
  constexpr size_t kMin = 8;  // characters
  return run.size() >= kMin && redactor.HasSecret(run);
}

bool SpellsSecret(const hlo::Literal& literal, const Redactor& redactor) {
  if (literal.elided()) return false;
  const auto spells = [&](const hlo::Literal& element) { return SpellsSecret(element, redactor); };
  if (literal.shape().IsTuple()) return std::ranges::any_of(literal.elements(), spells);
  if (!literal.shape().IsArray() || !hlo::IsInteger(literal.shape().element_type())) return false;
  const auto width = static_cast<size_t>(hlo::StorageBytes(literal.shape().element_type()));
  std::string run;
  for (size_t at = 0; at + width <= literal.bytes().size(); at += width) {
    uint64_t code = 0;
    std::memcpy(&code, literal.bytes().data() + at, width);
    const bool is_text = (code >= ' ' && code <= '~') || code == '\t' || code == '\n';
    if (is_text) {
      run += static_cast<char>(code);
      continue;
    }
    if (HasSecret(run, redactor)) return true;
    run.clear();
  }
  return HasSecret(run, redactor);
}

}  // namespace

std::vector<std::string> SpelledSecrets(const hlo::Module& module, Redactor& redactor) {
  std::vector<std::string> notes;
  for (const hlo::Instruction& i : module.instructions()) {
    if (i.opcode != hlo::Opcode::kConstant) continue;
    const auto* literal = module.Get<hlo::Literal>(i, hlo::AttributeKey::kConstantValue);
    if (literal == nullptr || !SpellsSecret(*literal, redactor)) continue;
    notes.push_back(fmt::format(
        "{} spells a secret in its elements, {}, and is not redacted: the module computes with it "
        "(fix: make it an input of the program, or `hloscope convert MODULE --to hlo-elided` and "
        "bundle that with --fill-elided 0)",
        redactor.Name(module[i.name]), hlo::ToString(literal->shape(), false)));
  }
  return notes;
}

}  // namespace hloscope::debug
