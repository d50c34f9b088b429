#include "viewer/model/hover_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "core/hlo/opcode.h"
#include "core/hlo/text/text.h"
#include "core/hlo/words.h"

namespace hloscope::viewer {
namespace {

constexpr size_t kMaxShape = 512;  // bytes of a shape that is explained

bool IsOfWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

// The shape whose layout has the byte: "f32[8,128]{1,0:T(8,128)}"; empty where there is none.
std::string_view ShapeAround(std::string_view line, size_t at) {
  const size_t open = line.rfind("]{", at);
  if (open == line.npos || open + 1 > at) return {};
  const size_t close = line.find('}', open);
  if (close == line.npos || close < at) return {};
  size_t begin = line.rfind('[', open);
  if (begin == line.npos) return {};
  while (begin > 0 && IsOfWord(line[begin - 1])) --begin;
  return close + 1 - begin <= kMaxShape ? line.substr(begin, close + 1 - begin)
                                        : std::string_view();
}

std::string OfLayout(std::string_view text, std::string_view device) {
  const hlo::ParseResult read = hlo::ParseText(fmt::format("x = {} parameter(0)", text));
  if (!read.ok() || read.module->instructions().size() != 1) return {};
  std::string out;
  for (const hlo::LayoutPart& part :
       hlo::DescribeLayout(read.module->shape(hlo::InstructionId(0U)), device))
    out += fmt::format("{}{}: {}", out.empty() ? "" : "\n", part.text, part.meaning);
  return out;
}

std::string OfAttribute(std::string_view name) {
  std::set<std::string_view> seen;  // an opcode decides which of one name it is
  std::string out;
  for (int k = 0; k < hlo::kAttributeKeyCount; ++k) {
    const auto key = static_cast<hlo::AttributeKey>(k);
    if (hlo::Info(key).text != name || !seen.insert(hlo::Describe(key)).second) continue;
    out += fmt::format("{}{}: {}", out.empty() ? "" : "\n", name, hlo::Describe(key));
  }
  return out;
}

}  // namespace

std::string HoverWords(std::string_view line, size_t at, std::string_view device) {
  if (at >= line.size()) return {};
  if (const std::string_view shape = ShapeAround(line, at); !shape.empty())
    return OfLayout(shape, device);
  if (!IsOfWord(line[at])) return {};
  size_t begin = at, end = at;
  while (begin > 0 && IsOfWord(line[begin - 1])) --begin;
  while (end < line.size() && IsOfWord(line[end])) ++end;
  const std::string_view word = line.substr(begin, end - begin);
  const char before = begin > 0 ? line[begin - 1] : ' ',
             after = end < line.size() ? line[end] : ' ';
  if (before != ' ') return {};
  if (after == '=') return OfAttribute(word);
  const auto opcode = after == '(' ? hlo::OpcodeFromText(word) : std::nullopt;
  return opcode ? fmt::format("{}: {}", word, hlo::Describe(*opcode)) : std::string();
}

}  // namespace hloscope::viewer
