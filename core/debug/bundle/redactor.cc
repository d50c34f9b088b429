// Rules propose spans of a text; those that overlap are replaced as one.
#include "core/debug/bundle/redactor.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/environment.h"
#include "core/base/parse_json.h"
#include "core/base/progress/activity.h"
#include "core/base/strings.h"
#include "core/debug/bundle/redact_rules.h"
#include "core/debug/bundle/secret_names.h"
#include "core/hlo/element_type.h"
#include "core/hlo/opcode.h"

namespace hloscope::debug {
namespace {

struct RedactionRow {
  RedactionKind kind;
  std::string_view name;
  RedactionHit (*find)(const Redactor& redactor, std::string_view text, size_t at);
};
constexpr RedactionRow kRows[] = {
#define REDACTION(kind, name, find, what) {RedactionKind::kind, name, find},
#include "core/debug/bundle/redactions.def"
#undef REDACTION
};

constexpr uint8_t kAllKinds = (1 << std::size(kRows)) - 1;
constexpr uint8_t Bit(RedactionKind kind) {
  return static_cast<uint8_t>(1 << static_cast<int>(kind));
}

// The length of a stand-in at `at`: "<token12>", "<payload SHA-256 7 bytes>"; 0: there is none.
size_t StandInLength(std::string_view text, size_t at) {
  if (text[at] != '<') return 0;
  const std::string_view rest = text.substr(at + 1);
  constexpr std::string_view kPayload = "payload ", kBytes = " bytes>";
  if (rest.starts_with(kPayload)) {
    constexpr size_t kDigits = 64;
    const size_t hash = RunLength(rest, kPayload.size(), IsAlphanumeric);
    const size_t size = kPayload.size() + hash + 1;
    if (hash != kDigits || size >= rest.size() || rest[size - 1] != ' ') return 0;
    const size_t end = size + RunLength(rest, size, IsDigit);
    return rest.substr(end).starts_with(kBytes) ? 1 + end + kBytes.size() : 0;
  }
  for (const RedactionRow& row : kRows) {
    if (!rest.starts_with(row.name)) continue;
    const size_t end = row.name.size() + RunLength(rest, row.name.size(), IsDigit);
    if (end > row.name.size() && end < rest.size() && rest[end] == '>') return end + 2;
  }
  return 0;
}

// Names that many machines share and that say nothing.
bool IsGenericName(std::string_view name) {
  static constexpr std::string_view kGeneric[] = {
      "root",      "user",   "users",  "admin",  "ubuntu",    "debian",  "nobody",
      "localhost", "home",   "daemon", "docker", "container", "vagrant", "runner",
      "jovyan",    "worker", "guest",  "test",   "default",   "main",    "git",
      "host",      "shared", "public", "node",   "build",     "local"};
  return std::ranges::find(kGeneric, name) != std::end(kGeneric);
}

// Values that say nothing about whose environment it is, or are told elsewhere: flags, words of
// HLO, numbers, folders (which are paths).
bool IsHarmless(std::string_view name, std::string_view value) {
  static constexpr std::string_view kNames[] = {
      "LANG",   "TERM", "SHELL",     "COLORTERM",    "PATH",     "_",     "SHLVL", "PWD",
      "OLDPWD", "HOME", "XLA_FLAGS", "TF_XLA_FLAGS", "LANGUAGE", "PAGER", "EDITOR"};
  constexpr size_t kMin = 6;
  if (value.size() < kMin || name.starts_with("LC_") || name.starts_with("HLOSCOPE_") ||
      std::ranges::find(kNames, name) != std::end(kNames) || value.front() == '/') {
    return true;
  }
  if (value.find_first_not_of("0123456789.,:-+ ") == std::string_view::npos) return true;
  // One lower-case word is a word of the language sooner than a secret.
  constexpr size_t kLongWord = 8;
  const bool word = std::ranges::all_of(value, [](char c) { return c >= 'a' && c <= 'z'; });
  if (word && value.size() < kLongWord && !NamesSecret(name)) return true;
  return hlo::OpcodeFromText(value).has_value();
}

using OrderedJson = nlohmann::ordered_json;

// Keys and texts of a document. A key may say that its value is a secret.
void Clean(OrderedJson& value, Redactor& redactor) {
  if (value.is_string()) {
    value = redactor.Text(value.get_ref<const std::string&>());
  } else if (value.is_array()) {
    for (OrderedJson& element : value) Clean(element, redactor);
  } else if (value.is_object()) {
    OrderedJson copy = OrderedJson::object();
    for (auto& [key, element] : value.items()) {
      const std::string named = key + "=";
      std::string text;
      if (element.is_string()) text = redactor.Text(named + element.get_ref<const std::string&>());
      if (text.starts_with(named)) {
        element = text.substr(named.size());
      } else {
        Clean(element, redactor);
      }
      copy[redactor.Text(key)] = std::move(element);
    }
    value = std::move(copy);
  }
}

}  // namespace

struct Redactor::Span {
  RedactionKind kind = RedactionKind::kToken;
  RedactionHit hit;
};

std::string_view ToString(RedactionKind kind) { return kRows[static_cast<size_t>(kind)].name; }

Secrets SecretsOfThisProcess(SecretValues values) {
  Secrets secrets;
  for (const std::string_view variable : OwnEnvironment()) {
    const size_t equals = variable.find('=');
    if (equals == std::string_view::npos || equals + 1 == variable.size()) continue;
    const std::string_view name = variable.substr(0, equals), value = variable.substr(equals + 1);
    if (name == "USER" || name == "LOGNAME" || name == "SUDO_USER" || name == "USERNAME") {
      secrets.users.emplace_back(value);
    } else if (name == "HOSTNAME" || name == "HOST") {
      secrets.hosts.emplace_back(value);
    } else if (NamesMachines(name) && value.find_first_of("/{ ") == std::string_view::npos) {
      secrets.hosts.emplace_back(value.substr(0, value.find(':')));
    } else if (values == SecretValues::kNamed ? NamesSecret(name) && value.front() != '/'
                                              : !IsHarmless(name, value)) {
      secrets.values.emplace_back(value);
    }
  }
  if (const passwd* entry = getpwuid(geteuid()); entry != nullptr && entry->pw_name != nullptr) {
    secrets.users.emplace_back(entry->pw_name);
  }
  constexpr size_t kMaxHostName = 256;
  char host[kMaxHostName] = {};
  if (gethostname(host, sizeof(host) - 1) == 0) secrets.hosts.emplace_back(host);
  return secrets;
}

Redactor::Redactor(const Secrets& secrets) {
  for (const std::string& user : secrets.users) AddWord(RedactionKind::kUser, user);
  for (const std::string& host : secrets.hosts) {
    AddWord(RedactionKind::kHost, host);
    AddWord(RedactionKind::kHost, std::string_view(host).substr(0, host.find('.')));
  }
  for (const std::string& value : secrets.values) AddWord(RedactionKind::kEnvironment, value);
}

void Redactor::AddWord(RedactionKind kind, std::string_view text) {
  constexpr size_t kMin = 3, kMax = 4096;
  const std::string word =
      kind == RedactionKind::kEnvironment ? std::string(text) : AsciiStrToLower(text);
  if (word.size() < kMin || word.size() > kMax || IsGenericName(word)) return;
  if (kind != RedactionKind::kEnvironment && hlo::OpcodeFromText(word).has_value()) return;
  std::vector<Word>& bucket = words_[static_cast<unsigned char>(AsciiToLower(word.front()))];
  for (const Word& known : bucket) {
    if (known.text == word && known.kind == kind) return;
  }
  const auto longer = [&](const Word& other) { return other.text.size() <= word.size(); };
  bucket.insert(std::ranges::find_if(bucket, longer), Word{word, kind});
}

size_t Redactor::WordAt(RedactionKind kind, std::string_view text, size_t at) const {
  const auto first = static_cast<unsigned char>(AsciiToLower(text[at]));
  for (const Word& word : words_[first]) {
    const size_t end = at + word.text.size();
    if (word.kind != kind || end > text.size()) continue;
    // A long value is one wherever it stands; a name only as a word.
    constexpr size_t kLongValue = 8;
    const bool anywhere = kind == RedactionKind::kEnvironment && word.text.size() >= kLongValue;
    const bool goes_on = at > 0 && IsAlphanumeric(text[at - 1]) && IsAlphanumeric(text[at]);
    const bool goes_on_behind =
        end < text.size() && IsAlphanumeric(text[end]) && IsAlphanumeric(text[end - 1]);
    if (!anywhere && (goes_on || goes_on_behind)) continue;
    const std::string_view here = text.substr(at, word.text.size());
    const bool same = kind == RedactionKind::kEnvironment ? here == word.text
                                                          : AsciiStrToLower(here) == word.text;
    if (same) return word.text.size();
  }
  return 0;
}

void Redactor::Learn(std::string_view text) {
  for (const std::string_view mark : {std::string_view("/home/"), std::string_view("Users"),
                                      std::string_view("/users/"), std::string_view("/u/")}) {
    for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
      AddWord(RedactionKind::kUser, HomeOwner(text.substr(at, 512)));
    }
  }
  const auto in_name = [](char c) { return IsAlphanumeric(c) || c == '.' || c == '-' || c == '_'; };
  for (size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    size_t begin = at, end = at + 1;
    while (begin > 0 && in_name(text[begin - 1])) --begin;
    while (end < text.size() && in_name(text[end])) ++end;
    const bool letter = at + 1 < text.size() && text[at + 1] >= 'a' && text[at + 1] <= 'z';
    const bool is_code = text.substr(at, end - at).ends_with(".py");  // batch_norm@functional.py
    if (begin == at || !letter || is_code) continue;
    AddWord(RedactionKind::kUser, text.substr(begin, at - begin));
    AddWord(RedactionKind::kHost, text.substr(at + 1, end - at - 1));
  }
}

std::string Redactor::StandIn(RedactionKind kind, std::string_view key, bool as_name) {
  ++counts_[kind];
  const auto [entry, is_new] = numbers_.try_emplace({kind, AsciiStrToLower(key)}, 0);
  if (is_new) entry->second = ++last_number_[kind];
  const std::string name = fmt::format("{}{}", ToString(kind), entry->second);
  return as_name ? "redacted_" + name : "<" + name + ">";
}

void Redactor::FindIn(std::string_view text, Kinds kinds, std::vector<Span>& found) const {
  constexpr size_t kLong = 4096;  // what is inside of a longer one is not looked at again
  constexpr size_t kOften = size_t{1} << 16;
  std::optional<Activity> activity;
  if (text.size() > kOften) activity.emplace("redacting", "", std::ssize(text));
  for (size_t at = 0; at < text.size(); ++at) {
    if (activity && at % kOften == 0) {
      if (is_stopped()) return;
      activity->Done(static_cast<int64_t>(at));
    }
    if (const size_t stand_in = StandInLength(text, at); stand_in != 0) {
      at += stand_in - 1;
      continue;
    }
    size_t next = at;
    for (const RedactionRow& row : kRows) {
      if ((kinds >> static_cast<int>(row.kind) & 1) == 0) continue;
      RedactionHit hit = row.find(*this, text, at);
      if (!hit.found()) continue;
      if (hit.size() > kLong) next = std::max(next, hit.end - 1);
      found.push_back({row.kind, std::move(hit)});
    }
    at = next;
  }
}

std::vector<Redactor::Span> Redactor::Find(std::string_view text, Kinds kinds) const {
  std::vector<Span> found;
  FindIn(text, kinds, found);
  // The same in what escapes stand for: "%2Fhome%2Fjane", "\\u0070assword"; some are escaped again.
  constexpr int kMaxTimes = 3;
  DecodedText decoded = DecodeEscapes(text);
  for (int times = 1; times <= kMaxTimes && !decoded.text.empty(); ++times) {
    std::vector<Span> inside;
    FindIn(decoded.text, kinds, inside);
    for (Span& span : inside) {
      span.hit.begin = decoded.origins[span.hit.begin];
      span.hit.end = decoded.origins[span.hit.end];
      found.push_back(std::move(span));
    }
    DecodedText again = DecodeEscapes(decoded.text);
    for (size_t& origin : again.origins) origin = decoded.origins[origin];
    decoded = std::move(again);
  }
  std::ranges::stable_sort(found, {}, [](const Span& span) { return span.hit.begin; });
  std::vector<Span> merged;
  size_t longest = 0;
  for (Span& span : found) {
    if (merged.empty() || span.hit.begin >= merged.back().hit.end) {
      longest = span.hit.size();
      merged.push_back(std::move(span));
      continue;
    }
    Span& last = merged.back();
    const size_t begin = last.hit.begin, end = std::max(last.hit.end, span.hit.end);
    // The separator after a folder is written again only where the union ends there.
    const std::string_view suffix = span.hit.end > last.hit.end ? span.hit.suffix : last.hit.suffix;
    if (span.hit.size() > longest) {
      longest = span.hit.size();
      last = std::move(span);
    }
    last.hit.begin = begin;
    last.hit.end = end;
    last.hit.suffix = suffix;
  }
  return merged;
}

std::string Redactor::Redact(std::string_view text, Kinds kinds, bool as_name) {
  if (is_stopped()) return std::string(text);
  std::string out;
  out.reserve(text.size());
  size_t done = 0;
  for (const Span& span : Find(text, kinds)) {
    out += text.substr(done, span.hit.begin - done);
    out += StandIn(span.kind, span.hit.key, as_name);
    out += span.hit.suffix;
    done = span.hit.end;
  }
  return out += text.substr(done);
}

std::string Redactor::Text(std::string_view text) { return Redact(text, kAllKinds, false); }

std::string Redactor::Name(std::string_view name) {
  return Redact(name, kAllKinds & ~Bit(RedactionKind::kPath), true);
}

std::string Redactor::Code(std::string_view code) { return Redact(code, kAllKinds, true); }

std::string Redactor::WithoutTokens(std::string_view text) {
  constexpr Kinds kTokens =
      Bit(RedactionKind::kToken) | Bit(RedactionKind::kEnvironment) | Bit(RedactionKind::kEncoded);
  return Redact(text, kTokens, false);
}

bool Redactor::HasSecret(std::string_view text) const { return !Find(text, kAllKinds).empty(); }

std::string Redactor::Path(std::string_view given) {
  // A secret may have what looks like a separator.
  const std::string path = WithoutTokens(given);
  const size_t slash = path.find_last_of("/\\");
  if (slash == std::string::npos || path.front() == '<') return Text(path);
  std::string_view folder = std::string_view(path).substr(0, slash);
  while (folder.size() > 1 && (folder.back() == '/' || folder.back() == '\\')) {
    folder.remove_suffix(1);
  }
  // Only the name of a file says nothing of who has it.
  if (PartsOfPath(path).base.empty()) return StandIn(RedactionKind::kPath, path, false);
  return StandIn(RedactionKind::kPath, folder, false) + "/" + Text(path.substr(slash + 1));
}

std::string Redactor::Json(std::string_view json) {
  Result<OrderedJson> document = ParseOrderedJson(json);
  if (!document) return Text(json);
  Clean(*document, *this);
  return JsonText(*document);
}

std::vector<std::pair<std::string, int64_t>> Redactor::Counts() const {
  std::vector<std::pair<std::string, int64_t>> out;
  for (const auto& [kind, count] : counts_) out.emplace_back(ToString(kind), count);
  if (payloads_ > 0) out.emplace_back("payload", payloads_);
  return out;
}

}  // namespace hloscope::debug
