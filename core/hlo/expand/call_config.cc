// Reads backend_config texts: JSON and MLIR attribute dictionaries with one small reader.
#include "core/hlo/expand/call_config.h"

#include <fmt/format.h>

#include <charconv>

namespace hloscope::hlo::expand {
namespace {

constexpr int kDeepest = 32;

bool IsWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-' || c == '+' || c == '.' || c == '$' || c == '!' || c == '#' || c == '@';
}

}  // namespace

// value = {members} | [list] | array<type: list> | "text" | word, each with an optional `: type`.
class ConfigReader {
 public:
  explicit ConfigReader(std::string_view text) : text_(text) {}

  bool Read(CallConfig& into) {
    if (!Object(into, 0)) return false;
    Skip();
    return at_ == text_.size();
  }

 private:
  void Skip() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  bool Take(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  char Next() {
    Skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool Quoted(std::string& out) {
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out.push_back(text_[at_++]);
    }
    return Take(quote);
  }

  bool Word(std::string& out) {
    if (Next() == '"' || Next() == '\'') return Quoted(out);
    while (at_ < text_.size() && IsWord(text_[at_])) out.push_back(text_[at_++]);
    return !out.empty();
  }

  // `: i64` behind a value, brackets and all.
  void SkipType() {
    int open = 0;
    for (Skip(); at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (open == 0 && (c == ',' || c == '}' || c == ']' || c == '>')) return;
      open += c == '<' || c == '[' || c == '{' || c == '(' ? 1 : 0;
      open -= c == '>' || c == ']' || c == '}' || c == ')' ? 1 : 0;
    }
  }

  bool Object(CallConfig& into, int depth) {
    if (!Take('{')) return false;
    while (!Take('}')) {
      std::string name;
      if (!Word(name)) return false;
      CallConfig& member = into.members_[name];
      if (Take('=') || Take(':')) {
        if (!Value(member, depth + 1)) return false;
      } else {
        member.text_ = "true";  // a unit attribute
      }
      if (!Take(',') && Next() != '}') return false;
    }
    return true;
  }

  bool List(CallConfig& into, char close, int depth) {
    while (!Take(close)) {
      if (!Value(into.list_.emplace_back(), depth + 1)) return false;
      if (!Take(',') && Next() != close) return false;
    }
    return true;
  }

  bool Value(CallConfig& into, int depth) {
    if (depth > kDeepest) return false;
    bool read = false;
    if (Next() == '{') {
      read = Object(into, depth);
    } else if (Take('[')) {
      read = List(into, ']', depth);
    } else if (Word(into.text_)) {
      read = (into.text_ != "array" && into.text_ != "dense") || !Take('<') || Array(into, depth);
    }
    if (read && Take(':')) SkipType();
    return read;
  }

  // Behind `array<` or `dense<`.
  bool Array(CallConfig& into, int depth) {
    into.text_.clear();
    const bool list = Take('[');
    std::string first;
    if (!list && Next() != '>') {
      if (!Word(first)) return false;
      if (Take(':')) return List(into, '>', depth);
      into.text_ = first;  // array<i64>, dense<1>
      return Take('>');
    }
    return (!list || List(into, ']', depth)) && Take('>');
  }

  std::string_view text_;
  size_t at_ = 0;
};

Result<CallConfig> CallConfig::Parse(std::string_view text) {
  CallConfig config;
  if (text.empty()) return config;
  if (text[0] != '{') {
    // "dimension=0,amount=2" is a list of attributes without its braces.
    const std::string braced = fmt::format("{{{}}}", text);
    if (!ConfigReader(braced).Read(config)) config = CallConfig();
    config.members_["opaque"].text_ = text;
    return config;
  }
  if (!ConfigReader(text).Read(config)) {
    return InputError("the backend_config is neither JSON nor an attribute dictionary");
  }
  // Typed FFI attributes may stand as a text inside JSON.
  for (const auto* name : {"custom_call_config", "custom_call_backend_config"}) {
    const CallConfig* inner = config.Find(name);
    if (inner == nullptr) continue;
    const std::string attributes(inner->Text("attributes"));
    if (!attributes.empty()) return Parse(attributes);
  }
  return config;
}

Result<CallConfig> CallConfig::Of(const Module& module, InstructionId id) {
  const auto* config = module.Get<BackendConfig>(module[id], AttributeKey::kBackendConfig);
  if (config == nullptr || !config->text.valid()) return CallConfig();
  return Parse(module[config->text]);
}
Result<CallConfig> CallConfig::Of(const CallSite& call) { return Of(call.module(), call.id()); }

bool IsLowerTriangle(const CallConfig& config) {
  // XLA: the Eigh call's options are "lower,sort,…".
  if (config.Text("opaque").starts_with("0,")) return false;
  if (config.Has("lower")) return config.Flag("lower");
  return config.Integer("uplo", 'L') == 'L';
}

const CallConfig* CallConfig::Find(std::string_view name) const {
  const auto found = members_.find(name);
  return found == members_.end() ? nullptr : &found->second;
}

const CallConfig& CallConfig::Section(std::string_view name) const {
  const CallConfig* section = Find(name);
  return section == nullptr ? *this : *section;
}

double CallConfig::Number(std::string_view name, double absent) const {
  const CallConfig* member = Find(name);
  if (member == nullptr) return absent;
  const std::string& text = member->text_;
  double value = absent;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int64_t CallConfig::Integer(std::string_view name, int64_t absent) const {
  const CallConfig* member = Find(name);
  if (member == nullptr) return absent;
  const std::string& text = member->text_;
  int64_t value = absent;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool CallConfig::Flag(std::string_view name, bool absent) const {
  const CallConfig* member = Find(name);
  if (member == nullptr) return absent;
  return member->text_ == "true" || (!member->text_.empty() && member->text_[0] == '1');
}

std::string_view CallConfig::Text(std::string_view name) const {
  const CallConfig* member = Find(name);
  return member == nullptr ? std::string_view() : std::string_view(member->text_);
}

std::vector<int64_t> CallConfig::Integers(std::string_view name) const {
  std::vector<int64_t> values;
  const CallConfig* member = Find(name);
  if (member == nullptr) return values;
  for (const CallConfig& element : member->list_) {
    int64_t value = 0;
    const std::string& text = element.text_;
    std::from_chars(text.data(), text.data() + text.size(), value);
    values.push_back(value);
  }
  return values;
}

std::vector<std::string_view> CallConfig::Texts(std::string_view name) const {
  std::vector<std::string_view> texts;
  const CallConfig* member = Find(name);
  if (member == nullptr) return texts;
  for (const CallConfig& element : member->list_) texts.emplace_back(element.text_);
  return texts;
}

std::vector<double> CallConfig::Numbers(std::string_view name) const {
  std::vector<double> values;
  for (const std::string_view text : Texts(name)) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    values.push_back(value);
  }
  return values;
}

}  // namespace hloscope::hlo::expand
