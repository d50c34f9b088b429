// Partners out of an alignment: what is the same instruction, and what took the place of one.
#include "core/debug/explain/passes/pairing.h"

#include <algorithm>
#include <utility>

#include "core/hlo/text/text.h"
#include "core/hlo/text/value_text.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// What holds the value that the other one had.
bool KeepsValue(analysis::LinkReason reason) {
  return analysis::IsIdentity(reason) || reason == analysis::LinkReason::kFusionRoot ||
         reason == analysis::LinkReason::kReplaced;
}

// Values of these can be compared element by element.
bool AreComparable(const Shape& a, const Shape& b) {
  if (a.IsTuple() != b.IsTuple()) return false;
  const auto x = a.Leaves(), y = b.Leaves();
  return x.size() == y.size() && std::ranges::equal(x, y, [](const auto& p, const auto& q) {
           return std::ranges::equal(p.second->dimensions(), q.second->dimensions());
         });
}

std::string NameOf(AttributeKey key) {
  return key == AttributeKey::kConstantValue ? "value" : std::string(hlo::Info(key).text);
}

// In full where it is short, else so that equal elements have equal texts.
std::string ConstantText(const Literal& literal) {
  constexpr int64_t kShort = 16;
  if (literal.shape().ElementCount().value_or(0) <= kShort) {
    std::string text;
    hlo::AppendLiteral(text, literal, false);
    return text;
  }
  return "{...} with hash " + std::to_string(std::get<uint64_t>(replay::FormOf(
                                  Result<Literal>(literal), replay::CaptureForm::kHash)));
}

}  // namespace

Pairing::Pairing(const Module& before, const Module& after, analysis::Alignment alignment)
    : before_(before),
      after_(after),
      alignment_(std::move(alignment)),
      prints_before_(analysis::Fingerprint(before)),
      prints_after_(analysis::Fingerprint(after)),
      before_of_(after.instructions().size()),
      sure_(after.instructions().size(), false),
      gone_(before.instructions().size(), true) {
  for (uint32_t i = 0; i < before_of_.size(); ++i) Pair(InstructionId(i));
}

void Pairing::Pair(InstructionId after) {
  constexpr float kMin = 0.4f;
  for (const analysis::Link& link : alignment_.Origins(after)) {
    const bool fits = KeepsValue(link.reason) && link.confidence >= kMin &&
                      AreComparable(before_.shape(link.before), after_.shape(after));
    if (!fits) continue;
    before_of_[after.index] = link.before;
    gone_[link.before.index] = false;
    sure_[after.index] = before_.name(link.before) == after_.name(after);
    return;
  }
}

bool Pairing::IsSameOperation(InstructionId before, InstructionId after) const {
  const hlo::Instruction& b = before_[before];
  const hlo::Instruction& a = after_[after];
  if (b.opcode != a.opcode || !AreComparable(before_.shape(before), after_.shape(after))) {
    return false;
  }
  return OperationTexts(before_, before) == OperationTexts(after_, after);
}

std::map<std::string, std::string> OperationTexts(const Module& module, InstructionId id) {
  std::map<std::string, std::string> texts;
  const hlo::Instruction& instruction = module[id];
  texts["shape"] = hlo::ToString(module.shape(id), false);
  for (const hlo::Attribute& attribute : module.attributes(instruction)) {
    if (hlo::IsCommon(attribute.key)) continue;
    std::string text = analysis::AttributeKeyText(module, instruction, attribute);
    if (attribute.key == AttributeKey::kConstantValue) {
      const auto& literal = module.Of<Literal>(attribute);
      text = literal.elided() ? "" : ConstantText(literal);
    }
    if (!text.empty()) texts[NameOf(attribute.key)] = std::move(text);
  }
  return texts;
}

std::map<std::string, std::string> ShownTexts(const Module& module, InstructionId id) {
  std::map<std::string, std::string> texts = OperationTexts(module, id);
  hlo::InstructionPrinter printer(module, hlo::TextFormat::kElided);
  for (const hlo::Attribute& attribute : module.attributes(module[id])) {
    if (attribute.key == AttributeKey::kConstantValue) continue;
    const std::string_view shown = printer.ValueText(module[id], attribute);
    if (!shown.empty()) texts[NameOf(attribute.key)] = shown;
  }
  return texts;
}

}  // namespace hloscope::debug
