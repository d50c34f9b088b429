// Lines are counted; those of JSON are parsed, shortened and printed again.
#include "app/output_limit.h"

#include <fmt/format.h>

#include "core/base/parse_json.h"

namespace hloscope::app {
namespace {

using Json = nlohmann::ordered_json;

// Shortens the lists below `value`, whatever their depth; what an object's lists lose is in its
// `not_shown`.
void Shorten(Json& value, size_t most) {
  if (value.is_array()) {
    for (Json& item : value) Shorten(item, most);
  } else if (value.is_object()) {
    Json not_shown;
    for (auto& [key, item] : value.items()) {
      if (item.is_array() && item.size() > most) {
        not_shown[key] = item.size() - most;
        item.erase(item.begin() + static_cast<std::ptrdiff_t>(most), item.end());
      }
      Shorten(item, most);
    }
    if (!not_shown.is_null()) value["not_shown"] = std::move(not_shown);
  }
}

}  // namespace

std::string OutputLimit::Shortened(std::string_view line) const {
  if (json_) {
    if (Result<Json> value = ParseOrderedJson(line)) {
      Shorten(*value, static_cast<size_t>(most_));
      return JsonText(*value) + "\n";
    }
  }
  return std::string(line) + "\n";
}

void OutputLimit::PassLine(std::string_view line, std::string& out) {
  if (++lines_ > most_) {
    last_ = line;
  } else {
    out += Shortened(line);
  }
}

std::string OutputLimit::Pass(std::string_view text) {
  std::string out;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    if (rest_.empty()) {
      PassLine(text.substr(0, end), out);
    } else {
      rest_ += text.substr(0, end);
      PassLine(rest_, out);
      rest_.clear();
    }
    text.remove_prefix(end + 1);
  }
  rest_ += text;
  return out;
}

std::string OutputLimit::Finish() {
  std::string out;
  if (!rest_.empty()) PassLine(rest_, out);
  rest_.clear();
  if (lines_ > most_ + 1) {
    const int64_t left_out = lines_ - most_ - 1;
    out += json_ ? fmt::format("{{\"not_shown\":{{\"objects\":{}}}}}\n", left_out)
                 : fmt::format("{} lines left out\n", left_out);
  }
  if (lines_ > most_) out += Shortened(last_);
  lines_ = 0;
  return out;
}

}  // namespace hloscope::app
