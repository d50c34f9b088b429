#include "core/graph/labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/graph/count_text.h"
#include "core/graph/user_words.h"
#include "core/hlo/analysis/source_line.h"

namespace hloscope::graph {
namespace {

using hlo::AttributeKey;
using hlo::Opcode;

size_t ColumnsOf(uint32_t code) {
  const bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
                    (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

// Bytes of the longest beginning of `text` in at most `columns` columns.
size_t BytesWithin(std::string_view text, size_t columns) {
  size_t bytes = 0, used = 0;
  while (bytes < text.size()) {
    Utf8Character c = DecodeUtf8(text.substr(bytes));
    used += ColumnsOf(c.code);
    if (used > columns) break;
    bytes += std::max<size_t>(c.length, 1);
  }
  return bytes;
}

std::string ShapeText(const hlo::Module& module, hlo::InstructionId id) {
  const hlo::Shape& shape = module.shape(id);
  if (!shape.IsTuple()) return ToString(shape, false);
  if (shape.elements().empty()) return "()";
  if (shape.elements().size() == 1) return "(" + ToString(shape.elements()[0], false) + ")";
  return fmt::format("({}, … {} in all)", ToString(shape.elements()[0], false),
                     shape.elements().size());
}

}  // namespace

std::string DetailOf(const hlo::Module& module, hlo::InstructionId id) {
  const hlo::Instruction& i = module[id];
  const auto enum_text = [&](AttributeKey key) {
    return std::string(hlo::EnumText(key, module.GetInt(i, key)));
  };
  if (i.opcode == Opcode::kFusion) return enum_text(AttributeKey::kFusionKind);
  if (i.opcode == Opcode::kCompare) return enum_text(AttributeKey::kDirection);
  if (i.opcode != Opcode::kCustomCall) return {};
  return std::string(module.GetString(i, AttributeKey::kCustomCallTarget));
}

std::string Elide(std::string_view text, size_t columns) {
  // Texts of strangers may be very long: no more of them than can be seen is looked at.
  const size_t most = columns * 8;
  std::string whole;
  if (text.size() > 2 * most) {
    whole = EscapeForTerminal(text.substr(0, most)) + "…" +
            EscapeForTerminal(text.substr(text.size() - most));
  } else {
    whole = EscapeForTerminal(text);
  }
  if (Columns(whole) <= columns) return whole;
  const size_t tail = columns / 3, head = columns - tail - 1;
  std::string out = whole.substr(0, BytesWithin(whole, head)) + "…";
  size_t begin = whole.size();
  for (size_t used = 0; begin > 0;) {
    size_t previous = begin - 1;
    while (previous > 0 && (static_cast<unsigned char>(whole[previous]) & 0xc0) == 0x80) --previous;
    used += ColumnsOf(DecodeUtf8(std::string_view(whole).substr(previous)).code);
    if (used > tail) break;
    begin = previous;
  }
  return out + whole.substr(begin);
}

std::string ElideEnd(std::string_view text, size_t columns) {
  constexpr size_t kLongestNumber = 5, kEnoughBefore = 7;
  const std::string whole = EscapeForTerminal(text.substr(0, columns * 8 + 8));
  if (whole.size() <= columns || Columns(whole) <= columns) return whole;
  if (columns < 2) return {};
  const size_t stem = text.find_last_not_of("0123456789");
  std::string_view number =
      stem == std::string_view::npos || text[stem] != '.' ? std::string_view() : text.substr(stem);
  if (number.size() < 2 || number.size() > kLongestNumber ||
      number.size() + kEnoughBefore > columns)
    number = {};
  return whole.substr(0, BytesWithin(whole, columns - 1 - number.size()))
      .append("…")
      .append(number);
}

size_t Columns(std::string_view text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    Utf8Character c = DecodeUtf8(text.substr(at));
    columns += ColumnsOf(c.code);
    at += std::max<size_t>(c.length, 1);
  }
  return columns;
}

NodeText TextOf(const hlo::Module& module, hlo::InstructionId id) {
  const std::string_view name = module.name(id);
  const std::string_view opcode = ToString(module[id].opcode);
  NodeText text{Elide(name, kTitleColumns), {}};
  if (!name.starts_with(opcode)) text.subtitle = opcode;
  for (const std::string& part : {DetailOf(module, id), ShapeText(module, id)}) {
    if (part.empty()) continue;
    if (!text.subtitle.empty()) text.subtitle += ' ';
    text.subtitle += part;
  }
  text.subtitle = Elide(text.subtitle, kSubtitleColumns);
  return text;
}

NodeText TextOf(const Tree& tree, NodeId id) {
  const Node& node = tree[id];
  if (node.kind != NodeKind::kInstruction) {
    std::string title = Elide(node.label, kTitleColumns - 5);
    if (node.kind == NodeKind::kRepeat) title += fmt::format(" ×{}", node.repeats);
    return {title, CountedText(node.instructions, "instruction")};
  }
  return TextOf(tree.module(), node.instruction);
}

std::string RowTitle(const Tree& tree, NodeId id) {
  if (!tree.IsBody(id)) return tree.Title(id);
  // Not the slashes inside "transpose(jvp(a/b))".
  const auto names = hlo::NamesIn(hlo::OpNameOf(tree.module(), tree[id].instruction));
  std::string_view name = names.empty() ? std::string_view() : names.front();
  int depth = 0;
  for (size_t k = name.size(); k-- > 0;) {
    if (name[k] == ')') ++depth;
    if (name[k] == '(') --depth;
    if (name[k] != '/' || depth > 0) continue;
    name.remove_prefix(k + 1);
    break;
  }
  std::string title = ScopeTitle(name);
  return title.empty() ? tree.Title(id) : title;
}

NodeText TextOf(const Tree& tree, NodeId id, uint32_t count) {
  NodeText text = TextOf(tree, id);
  if (count > 0)
    text.subtitle =
        fmt::format("{} of {}", count, CountedText(tree[id].instructions, "instruction"));
  return text;
}

std::string TitleWithin(const Tree& tree, NodeId id, const NodeText& text, size_t columns) {
  constexpr size_t kEnoughOfTitle = 8, kEnoughOfGroup = 6, kMin = 4;
  if (Columns(text.title) <= columns) return text.title;
  if (columns >= kEnoughOfTitle) return ElideEnd(text.title, columns);
  if (columns < kMin) return {};
  const auto head = [&](std::string_view whole) {
    return std::string(whole.substr(0, BytesWithin(whole, columns - 1))) + "…";
  };
  const Node& node = tree[id];
  if (node.kind != NodeKind::kInstruction) {
    const std::string count = node.kind == NodeKind::kRepeat ? fmt::format("×{}", node.repeats)
                                                             : std::to_string(node.instructions);
    if (columns >= kEnoughOfGroup) return head(text.title);
    return Columns(count) <= columns ? count : std::string();
  }
  // What a fusion or a parameter is called says more than that it is one.
  const Opcode opcode = tree.module()[node.instruction].opcode;
  if (opcode == Opcode::kFusion || opcode == Opcode::kCustomCall || opcode == Opcode::kParameter)
    return head(text.title);
  const std::string_view name = ToString(opcode);
  return name.size() <= columns ? std::string(name) : head(name);
}

FlatNode SizeOf(const NodeText& text) {
  const float title = static_cast<float>(Columns(text.title)) * kTitleSize * kCharacterWidth;
  const float subtitle =
      static_cast<float>(Columns(text.subtitle)) * kSubtitleSize * kCharacterWidth;
  return {std::max({title, subtitle, 44.0f}) + 2 * kNodePadding, kNodeHeight};
}

float LineWidth(std::string_view title) {
  constexpr float kLeast = 64;
  const auto columns = static_cast<float>(Columns(title)) + 0.5f;
  return std::max(kLeast, columns * kSubtitleSize * kCharacterWidth + 2 * kNodePadding);
}

std::string BytesText(int64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  const int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, digits, kUnits[unit]);
}

std::string FlopsText(double flops) {
  constexpr std::string_view kUnits[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
  size_t unit = 0;
  while (flops >= 999.5 && unit + 1 < std::size(kUnits)) {
    flops /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", flops, unit > 0 && flops < 9.95 ? 1 : 0, kUnits[unit]);
}

}  // namespace hloscope::graph
