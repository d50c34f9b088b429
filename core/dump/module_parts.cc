#include "core/dump/module_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "core/base/counted.h"
#include "core/dump/module_text_lines.h"
#include "core/dump/readers/line_reader.h"
#include "core/hlo/text/log_prefix.h"

namespace hloscope::dump {
namespace {

constexpr std::string_view kSeparator = "// -----";

class PartFinder {
 public:
  PartFinder(std::string_view text, const Limits& limits) : text_(text), limits_(limits) {}

  // Modules one after another, with nothing else between: from border to border.
  ModuleParts Divided() {
    ModulePart part;
    bool has_content = false, is_open = false;
    TextLine line;
    const auto close = [&](size_t end) {
      part.end = end;
      if (has_content) Add(std::move(part));
      part = {};
      has_content = is_open = false;
    };
    for (TextLines lines(text_); lines.Next(line);) {
      const bool separates = line.text.starts_with(kSeparator);
      const bool opens = OpensHlo(line.text);
      if (separates || (opens && is_open)) {
        close(line.begin);
        part.begin = separates ? line.begin + line.text.size() : line.begin;
        part.lines_before = line.number;
      }
      if (opens || OpensMlir(line.text)) {
        is_open |= opens;
        if (part.name.empty()) part.name = NameIn(line.text);
      }
      const std::string_view content = Trim(line.text);
      has_content |= !content.empty() && !content.starts_with("//");
    }
    close(text_.size());
    if (found_.parts.size() < 2) return {};
    for (ModulePart& each : found_.parts)
      each.kind = Sniff(text_.substr(each.begin, each.end - each.begin));
    return Named();
  }

  // Modules among something else.
  ModuleParts Among() {
    TextLine line;
    for (TextLines lines(text_); more_ || lines.Next(line);) {
      more_ = false;
      if (ReadTorch(line)) continue;
      if (const auto hlo = BeginOf(line.text, "HloModule", &OpensHlo)) {
        ReadHlo(lines, line, *hlo);
      } else if (const auto mlir = BeginOf(line.text, "module ", &OpensMlir)) {
        ReadMlir(lines, line, *mlir);
      } else if (const auto proto = BeginOf(line.text, kModuleField, &OpensModuleField)) {
        ReadTextProto(lines, line, Begin(line, *proto), *proto);
      } else if (const auto field = BeginOf(line.text, kEntryField, &OpensEntryField)) {
        // The second field of a HloModuleProto by itself, behind its name.
        const auto name = BeginOf(before_.text, kNameField, &OpensNameField);
        if (name == field) ReadTextProto(lines, line, Begin(before_, *name), std::nullopt);
      }
      before_ = line;
    }
    return Named();
  }

 private:
  // Where in the line a module begins: at its start, behind what a log or a mark puts there, or
  // after a colon.
  static std::optional<size_t> BeginOf(std::string_view line, std::string_view word,
                                       bool (*opens)(std::string_view)) {
    const size_t at = line.find(word);
    if (at == line.npos || !opens(line.substr(at))) return std::nullopt;
    if (at == 0) return at;
    const char before = line[at - 1];
    return before == ' ' || before == '\t' || before == ':' || before == '|' || before == '"' ||
                   before == '`'
               ? std::optional(at)
               : std::nullopt;
  }

  // "  <module> (/home/u/demo.py:9)", "Hashes: (3a1f…)", "Graph Hash: 3a1f…".
  bool ReadTorch(const TextLine& line) {
    const std::string_view text = Trim(line.text);
    if (text.starts_with("TensorsGraphInfo")) {
      in_torch_ = in_frames_ = true;
      frames_.clear();
      hash_.clear();
      return true;
    }
    if (!in_torch_) return false;
    if (text.starts_with("Hashes:") || text.starts_with("Root Hashes:")) {
      hash_ = Between(text, "(", ")");
      in_frames_ = false;
      return true;
    }
    if (text.starts_with("Graph Hash:")) {
      // It stands behind the graph.
      if (!found_.parts.empty()) found_.parts.back().hash = Trim(text.substr(11));
      return true;
    }
    if (text.starts_with("IR {")) ++found_.graphs_of_ir;
    if (in_frames_ && text.ends_with(')') && text.find(" (") != text.npos) {
      std::string_view place = text.substr(text.rfind(" (") + 2);
      place.remove_suffix(1);
      frames_.emplace_back(place);
      return true;
    }
    return !OpensHlo(text) && !OpensMlir(text);
  }

  // The innermost frame that is not of a library.
  std::string UserPlace() const {
    for (const std::string& frame : frames_) {
      constexpr std::string_view kLibraries[] = {"/site-packages/", "/dist-packages/", "torch_xla/",
                                                 "/lib/python"};
      const auto holds = [&](std::string_view part) { return frame.find(part) != frame.npos; };
      if (std::ranges::none_of(kLibraries, holds)) return frame;
    }
    return frames_.empty() ? std::string() : frames_.front();
  }

  ModulePart Begin(const TextLine& line, size_t at) {
    ModulePart part;
    part.begin = line.begin;
    part.lines_before = line.number;
    part.name = NameIn(line.text.substr(at));
    part.line_prefix = line.text.substr(0, at);
    if (in_torch_) {
      part.hash = hash_;
      part.place = UserPlace();
    }
    return part;
  }

  // Up to what is no computation behind the end of one.
  void ReadHlo(TextLines& lines, TextLine& line, size_t at) {
    ModulePart part = Begin(line, at);
    const LinePrefix prefix(line.text, at);
    size_t end = line.begin + line.text.size();
    bool has_computation = false, inside = false;
    while (lines.Next(line)) {
      const std::optional<size_t> length = prefix.LengthIn(line.text);
      if (!length) continue;  // another thread's
      const std::string_view own = line.text.substr(*length);
      const std::string_view text = Trim(own);
      if (BeginOf(line.text, "HloModule", &OpensHlo) || text.starts_with("## END_GRAPH") ||
          text.starts_with(kSeparator)) {
        more_ = !text.starts_with(kSeparator);
        break;
      }
      if (text.empty()) continue;
      if (inside) {
        end = line.begin + line.text.size();
        inside = !own.starts_with('}');
      } else if (OpensComputation(text)) {
        end = line.begin + line.text.size();
        has_computation = true;
        inside = !text.ends_with('}');
      } else if (has_computation) {
        more_ = true;
        break;
      } else if (IsOfFrameTable(text)) {
        end = line.begin + line.text.size();
      } else {
        more_ = true;  // a sentence about a module
        break;
      }
    }
    part.end = end;
    if (has_computation) Add(std::move(part));
  }

  void ReadMlir(TextLines& lines, TextLine& line, size_t at) {
    ModulePart part = Begin(line, at);
    part.kind = FileKind::kStableHloText;
    const LinePrefix prefix(line.text, at);
    bool is_closed = false;
    while (lines.Next(line)) {
      const std::optional<size_t> length = prefix.LengthIn(line.text);
      if (!length) continue;
      const std::string_view own = line.text.substr(*length);
      const bool is_alias = is_closed && own.starts_with("#loc");
      if (is_closed && !is_alias) break;
      part.end = line.begin + line.text.size();
      is_closed |= own.starts_with('}');
    }
    more_ = is_closed;
    if (is_closed) Add(std::move(part));
  }

  // Of `hlo_module {` at `wrapped` up to its brace; of a HloModuleProto by itself, nullopt, while
  // its fields go on. One that breaks off is kept, so that its reader says where; it ends where
  // another begins in the same column.
  void ReadTextProto(TextLines& lines, TextLine& line, ModulePart part,
                     std::optional<size_t> wrapped) {
    part.kind = FileKind::kHloTextProto;
    const LinePrefix prefix = LinePrefix::Of(part);
    TextProtoDepth depth;
    std::string_view own = line.text.substr(wrapped.value_or(part.line_prefix.size()));
    if (!wrapped) part.name = ValueOfName(before_.text.substr(part.line_prefix.size()));
    bool has_computation = false, is_first = true, is_indented = false;
    for (;;) {
      if (depth.value() == 0 && !is_first && (wrapped || !IsModuleField(own))) break;
      const bool opens_another = OpensModuleField(own) || (is_indented && OpensNameField(own));
      if (depth.value() > 0 && opens_another) break;
      is_first = false;
      is_indented |= own.starts_with(' ');
      if (part.name.empty()) part.name = ValueOfName(own);
      has_computation |= Trim(own).starts_with("computations");
      depth.Take(own);
      part.end = line.begin + line.text.size();
      std::optional<size_t> length;
      do {
        if (!lines.Next(line)) return AddIf(has_computation, std::move(part));
        length = prefix.LengthIn(line.text);
      } while (!length);
      own = line.text.substr(*length);
    }
    more_ = true;
    AddIf(has_computation, std::move(part));
  }

  void AddIf(bool is_module, ModulePart part) {
    if (is_module) Add(std::move(part));
  }

  void Add(ModulePart part) {
    if (std::cmp_greater_equal(found_.parts.size(), limits_.archive_members)) {
      ++found_.left_out;
      return;
    }
    found_.parts.push_back(std::move(part));
  }

  ModuleParts Named() {
    SetSelectors(found_.parts);
    return std::move(found_);
  }

  std::string_view text_;
  const Limits& limits_;
  ModuleParts found_;
  bool more_ = false;  // the last line that was read is not of what was read
  TextLine before_;    // the line before the one that is read
  bool in_torch_ = false, in_frames_ = false;
  std::string hash_;
  std::vector<std::string> frames_;
};

// Whether a text of modules alone may hold more than one.
bool MayBeDivided(std::string_view text) {
  if (text.find("\n// -----") != text.npos) return true;
  const size_t first = text.find("HloModule");
  return first != text.npos && text.find("\nHloModule", first) != text.npos;
}
bool MayHoldSeveralProtos(std::string_view text) {
  const auto is_twice = [&](std::string_view field) {
    const size_t first = text.find(field);
    return first != text.npos && text.find(fmt::format("\n{}", field), first) != text.npos;
  };
  return is_twice(kModuleField) || is_twice(kEntryField);
}

}  // namespace

ModuleParts FindModuleParts(std::string_view text, FileKind kind, const Limits& limits) {
  const bool is_module = kind == FileKind::kHloText || kind == FileKind::kStableHloText;
  const std::string_view start =
      text.substr(std::min(text.find_first_not_of(" \r\n"), text.size()));
  const bool is_log = hlo::LogPrefixLength(start.substr(0, start.find('\n'))) > 0;
  if (is_module && !is_log)
    return MayBeDivided(text) ? PartFinder(text, limits).Divided() : ModuleParts{};
  if (kind == FileKind::kHloTextProto) {
    ModuleParts found;
    if (MayHoldSeveralProtos(text)) found = PartFinder(text, limits).Among();
    return found.parts.size() > 1 ? found : ModuleParts{};
  }
  const bool may_hold = kind == FileKind::kTorchTensors || kind == FileKind::kLog ||
                        kind == FileKind::kText || kind == FileKind::kJson || is_module;
  return may_hold ? PartFinder(text, limits).Among() : ModuleParts{};
}

void SetSelectors(std::span<ModulePart> parts) {
  std::map<std::string_view, size_t> counts;
  for (const ModulePart& part : parts) ++counts[part.name];
  for (size_t k = 0; k < parts.size(); ++k) {
    ModulePart& part = parts[k];
    const bool is_plain = !part.name.empty() && part.name.find_first_of("/:") == part.name.npos &&
                          (part.name.front() < '0' || part.name.front() > '9');
    part.selector = is_plain && counts[part.name] == 1 ? part.name : fmt::format("{}", k + 1);
  }
}

FileView PartView(const FileView& file, const ModulePart& part) {
  std::string text(part.lines_before, '\n');
  const std::string_view own = file.bytes().substr(part.begin, part.end - part.begin);
  if (part.line_prefix.empty()) {
    text += own;
  } else {
    const LinePrefix prefix = LinePrefix::Of(part);
    TextLine line;
    for (TextLines lines(own); lines.Next(line);) {
      const std::optional<size_t> length = prefix.LengthIn(line.text);
      if (length) {
        text.append(*length, ' ');
        text += line.text.substr(*length);
      }
      text += '\n';
    }
  }
  return FileView::FromBytes(file.path(), std::move(text));
}

const ModulePart* FindPart(std::span<const ModulePart> parts, std::string_view selector) {
  size_t number = 0;
  const auto [end, error] =
      std::from_chars(selector.data(), selector.data() + selector.size(), number);
  const bool is_number = error == std::errc() && end == selector.data() + selector.size();
  if (is_number) return number >= 1 && number <= parts.size() ? &parts[number - 1] : nullptr;
  const auto at = std::ranges::find(parts, selector, &ModulePart::selector);
  return at == parts.end() ? nullptr : &*at;
}

Error SeveralModules(const std::string& path, std::span<const ModulePart> parts) {
  constexpr size_t kNamed = 8;
  std::string names;
  for (size_t k = 0; k < std::min(parts.size(), kNamed); ++k)
    names += fmt::format("{}{}:{}", k == 0 ? "" : ", ", path, parts[k].selector);
  if (parts.size() > kNamed) names += ", …";
  return {ErrorClass::kInput,
          fmt::format("holds {}, expected one", Counted(parts.size(), "module")),
          {path, 0, 0},
          "name one: " + names};
}

}  // namespace hloscope::dump
