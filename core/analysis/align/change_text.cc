#include "core/analysis/align/change_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/analysis/denormals.h"
#include "core/hlo/index_text.h"
#include "core/hlo/text/text.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::analysis {
namespace {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;

std::string NameOf(const Module& m, const Attribute& a) {
  if (a.key == AttributeKey::kParameterNumber) return "parameter number";
  if (a.key == AttributeKey::kUnknown) return std::string(m[m.Of<hlo::RawAttribute>(a).name]);
  return std::string(hlo::Info(a.key).text);
}

// Cuts at ends of UTF-8 sequences.
bool IsInsideCharacter(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

std::string Around(std::string_view text, size_t at) {
  constexpr size_t kBefore = 20, kMax = 60;
  size_t begin = at > kBefore ? at - kBefore : 0;
  while (IsInsideCharacter(text, begin)) --begin;
  size_t end = std::min(text.size(), begin + kMax);
  while (IsInsideCharacter(text, end)) ++end;
  return fmt::format("{}{}{}", begin > 0 ? "…" : "", text.substr(begin, end - begin),
                     end < text.size() ? "…" : "");
}

std::string ElementText(const Literal& literal, int64_t at) {
  std::string text;
  hlo::AppendElement(text, literal, at);
  return text;
}

// The first element of other bits; -1: none.
int64_t FirstOtherElement(const Literal& a, const Literal& b, size_t size) {
  const size_t bytes = std::min(a.bytes().size(), b.bytes().size());
  const auto [x, y] = std::mismatch(
      a.bytes().begin(), a.bytes().begin() + static_cast<ptrdiff_t>(bytes), b.bytes().begin());
  return x - a.bytes().begin() == static_cast<ptrdiff_t>(bytes)
             ? -1
             : (x - a.bytes().begin()) / static_cast<ptrdiff_t>(size);
}

}  // namespace

std::string BecameText(std::string_view a, std::string_view b) {
  constexpr size_t kWhole = 80;
  const bool is_short = a.size() <= kWhole && b.size() <= kWhole;
  const auto at = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const auto part = [&](std::string_view text) {
    if (text.empty()) return std::string("nothing");
    return is_short ? std::string(text) : Around(text, at);
  };
  return fmt::format("{} became {}", part(a), part(b));
}

std::string ShortText(std::string_view text) { return Around(text, 0); }

std::string ConstantChangeText(const Literal& a, const Literal& b, bool exact) {
  if (a == b) return {};
  const auto value = [&](const Literal& literal) {
    return exact ? literal : FlushDenormals(literal);
  };
  const Literal x = value(a), y = value(b);
  if (x == y) return {};
  for (size_t k = 0; k < std::min(x.elements().size(), y.elements().size()); ++k) {
    const std::string of_element = ConstantChangeText(x.elements()[k], y.elements()[k], exact);
    if (!of_element.empty()) return fmt::format("{}, {}", k, of_element);
  }
  if (!x.shape().IsArray() || !y.shape().IsArray() || x.bytes().size() != y.bytes().size())
    return "another size";
  const int64_t at =
      FirstOtherElement(x, y, static_cast<size_t>(hlo::StorageBytes(x.shape().element_type())));
  if (at < 0) return "another dynamic size";
  const std::string became = BecameText(ElementText(x, at), ElementText(y, at));
  if (x.shape().rank() == 0) return became;
  std::vector<int64_t> index(x.shape().rank());
  int64_t rest = at;
  for (size_t d = index.size(); d-- > 0;) {
    index[d] = rest % x.shape().dimension(d);
    rest /= x.shape().dimension(d);
  }
  return fmt::format("element {}: {}", hlo::ArrayIndexText(index), became);
}

std::map<std::string, std::string> AttributeTexts(const Module& module, InstructionId instruction,
                                                  const FingerprintOptions& options) {
  std::map<std::string, std::string> texts;
  for (const Attribute& a : module.attributes(module[instruction])) {
    if (a.key == AttributeKey::kConstantValue) continue;  // ConstantChangeText
    if (IsLeftOut(module, instruction, a, options)) continue;
    const std::string text = AttributeKeyText(module, module[instruction], a);
    if (!text.empty()) texts[NameOf(module, a)] += text;
  }
  return texts;
}

std::string AttributeValueText(const Module& module, InstructionId instruction,
                               std::string_view name) {
  hlo::InstructionPrinter printer(module, hlo::TextFormat::kHlo);
  for (const Attribute& a : module.attributes(module[instruction])) {
    if (NameOf(module, a) == name) return std::string(printer.ValueText(module[instruction], a));
  }
  return {};
}

std::string PlainText(const Module& module, InstructionId instruction) {
  // Only constants print their elements.
  const bool is_constant = module[instruction].opcode == hlo::Opcode::kConstant;
  std::string text;
  hlo::PrintText(module, instruction,
                 is_constant ? hlo::TextFormat::kElided : hlo::TextFormat::kShort, text);
  if (is_constant) {
    text.resize(std::min(text.size(), text.find(", metadata={")));
    if (text.starts_with('%')) text.erase(0, 1);
  }
  return text;
}

}  // namespace hloscope::analysis
