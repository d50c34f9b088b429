#include "core/dump/module_text_lines.h"

#include <algorithm>

#include "core/dump/readers/line_reader.h"
#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/text/log_prefix.h"

namespace hloscope::dump {
namespace {

// The file and line in the log's mark.
std::string_view PlaceIn(std::string_view line) {
  const std::string_view prefix = line.substr(0, hlo::LogPrefixLength(line));
  const size_t space = prefix.find_last_of(" \t");
  return space == prefix.npos ? prefix : prefix.substr(space + 1);
}

// What stands behind the field's name and a colon; nullopt: the line has another field.
std::optional<std::string_view> BehindField(std::string_view line, std::string_view field) {
  if (!line.starts_with(field)) return std::nullopt;
  line = TrimStart(line.substr(field.size()));
  if (!line.starts_with(':')) return std::nullopt;
  return TrimStart(line.substr(1));
}

bool IsFieldOfText(std::string_view line, std::string_view field) {
  const auto value = BehindField(line, field);
  return value && value->starts_with('"');
}

}  // namespace

TextLines::TextLines(std::string_view text)
    : text_(text), at_(text.starts_with(hlo::kByteOrderMark) ? hlo::kByteOrderMark.size() : 0) {}

bool TextLines::Next(TextLine& line) {
  if (at_ >= text_.size()) return false;
  const size_t end = std::min(text_.find('\n', at_), text_.size());
  line = {text_.substr(at_, end - at_), at_, number_++};
  if (line.text.ends_with('\r')) line.text.remove_suffix(1);
  at_ = end + 1;
  return true;
}

std::string NameIn(std::string_view line) {
  size_t at = line.find("HloModule");
  if (at != line.npos) {
    line.remove_prefix(at + std::string_view("HloModule").size());
  } else if (at = line.find("module @"); at != line.npos) {
    line.remove_prefix(at + std::string_view("module @").size());
  } else {
    return {};
  }
  line = Trim(line);
  if (line.starts_with('"')) return std::string(line.substr(1, line.find('"', 1) - 1));
  if (line.starts_with('%')) line.remove_prefix(1);
  return std::string(line.substr(0, line.find_first_of(", \t{(")));
}

bool OpensHlo(std::string_view line) {
  return line.starts_with("HloModule ") || line.starts_with("HloModule\t");
}

bool OpensMlir(std::string_view line) {
  return line.starts_with("module @") || line.starts_with("module attributes") ||
         line.starts_with("module {");
}

bool OpensComputation(std::string_view line) {
  if (!line.ends_with('{') && line.find("->") == line.npos) return false;
  return line.starts_with("ENTRY") || line.find('(') != line.npos ||
         line.find(' ') == line.size() - 2;
}

bool IsOfFrameTable(std::string_view line) {
  return (line.front() >= '0' && line.front() <= '9') || line == "FileNames" ||
         line == "FunctionNames" || line == "FileLocations" || line == "StackFrames";
}

bool OpensModuleField(std::string_view line) {
  if (!line.starts_with(kModuleField)) return false;
  line = TrimStart(line.substr(kModuleField.size()));
  if (line.starts_with(':')) line = TrimStart(line.substr(1));
  return line.starts_with('{');
}

bool OpensNameField(std::string_view line) { return IsFieldOfText(line, kNameField); }
bool OpensEntryField(std::string_view line) { return IsFieldOfText(line, kEntryField); }

bool IsModuleField(std::string_view line) {
  line = TrimStart(line);
  const std::string_view word =
      line.substr(0, std::min(line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), line.size()));
  const std::string_view rest = TrimStart(line.substr(word.size()));
  if (!rest.starts_with(':') && !rest.starts_with('{')) return false;
  bool is_of_module = false;
  for (const hlo::FieldRow& row : hlo::FieldRows()) {
    if (row.number == 0) is_of_module = row.message == "HloModuleProto";
    if (is_of_module && row.number != 0 && row.name == word) return true;
  }
  return false;
}

std::string ValueOfName(std::string_view line) {
  const auto value = BehindField(TrimStart(line), kNameField);
  if (!value || !value->starts_with('"')) return {};
  return std::string(value->substr(1, value->find('"', 1) - 1));
}

void TextProtoDepth::Take(std::string_view line) {
  char quote = 0;  // the one that ends the string; a string ends with its line
  for (size_t k = 0; k < line.size(); ++k) {
    const char c = line[k];
    if (quote != 0) {
      if (c == '\\') ++k;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      return;
    } else if (c == '{') {
      ++depth_;
    } else if (c == '}') {
      depth_ = std::max(depth_ - 1, 0);
    }
  }
}

LinePrefix::LinePrefix(std::string_view line, size_t at) : given_(line.substr(0, at)) {
  is_log_ = at > 0 && hlo::LogPrefixLength(line) > 0;
  if (is_log_) place_ = PlaceIn(line);
}

std::optional<size_t> LinePrefix::LengthIn(std::string_view line) const {
  if (is_log_) {
    const size_t length = hlo::LogPrefixLength(line);
    if (length == 0) return 0;  // a record of several lines
    if (PlaceIn(line) != place_) return std::nullopt;
    return std::min(length + 1, line.size());
  }
  // A mark of a process, of a test or of a quotation.
  const std::string_view given = given_;
  if (line.starts_with(given)) return given.size();
  const std::string_view bare = given.substr(0, given.find_last_not_of(' ') + 1);
  return line == bare && !bare.empty() ? line.size() : 0;
}

}  // namespace hloscope::dump
