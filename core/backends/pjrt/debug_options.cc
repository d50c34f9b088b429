// Reading DebugOptions as text.
#include "core/backends/pjrt/debug_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/file.h"

namespace hloscope::replay::pjrt {
namespace {

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// What stands in the quotes of a string; anything else as it is.
std::string Unquoted(std::string_view value) {
  if (value.size() < 2 || (value[0] != '"' && value[0] != '\'') || value.back() != value[0]) {
    return std::string(value);
  }
  std::string text;
  for (size_t i = 1; i + 1 < value.size(); ++i) {
    if (value[i] == '\\' && i + 2 < value.size()) ++i;
    text += value[i];
  }
  return text;
}

}  // namespace

Result<XlaFlags> FlagsFromDebugOptions(std::string_view text) {
  XlaFlags fields;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos && line.ends_with('{')) {
      return UnsupportedError(fmt::format("line {}: {} is a message, expected a plain value",
                                          number, Trim(line.substr(0, line.size() - 1))),
                              "remove it");
    }
    if (colon == std::string_view::npos || !line.starts_with("xla_")) {
      return InputError(
          fmt::format("line {}: expected a field of DebugOptions, xla_name: value", number));
    }
    const std::string name(Trim(line.substr(0, colon)));
    const std::string value = Unquoted(Trim(line.substr(colon + 1)));
    const auto known =
        std::ranges::find(fields, name, [](const auto& field) { return field.first; });
    if (known == fields.end()) {
      fields.emplace_back(name, value);
    } else {
      known->second += "," + value;
    }
  }
  return fields;
}

Result<XlaFlags> ReadDebugOptionsFile(const std::string& path, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  const std::string_view text = file.bytes();
  const bool is_binary = text.find('\0') != std::string::npos;
  auto flags = is_binary
                   ? Result<XlaFlags>(InputError("is binary", "give the text form of DebugOptions"))
                   : FlagsFromDebugOptions(text);
  if (flags.has_value()) return flags;
  Error error = std::move(flags).error();
  error.message = fmt::format("{}: {}", path, error.message);
  return std::unexpected(std::move(error));
}

}  // namespace hloscope::replay::pjrt
