// Redactor: takes out of texts what says who made them and where. Equal secrets get equal
// stand-ins, in all texts that one Redactor sees.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hloscope::debug {

enum class RedactionKind : uint8_t {
#define REDACTION(kind, name, find, what) kind,
#include "core/debug/bundle/redactions.def"
#undef REDACTION
};
std::string_view ToString(RedactionKind kind);

// What is known to be secret before any text is seen.
struct Secrets {
  std::vector<std::string> users, hosts, values;
};
/// Which values of environment variables are secrets: all but those that say nothing of their owner
/// (languages, terminals, numbers), or only those whose names say that they are.
enum class SecretValues : uint8_t { kAll, kNamed };
/// Of this process: who runs it, where, and values of its environment.
Secrets SecretsOfThisProcess(SecretValues values = SecretValues::kAll);

struct RedactionHit;

class Redactor {
 public:
  explicit Redactor(const Secrets& secrets);
  // Once that is requested, texts are left as they are: what was made of them is of no use.
  void set_stop(std::stop_token stop) { stop_ = std::move(stop); }
  bool is_stopped() const { return stop_.stop_requested(); }

  // Looks for names of users and hosts that the text shows (in home folders, in user@host). Before
  // any text is redacted, so that they go everywhere.
  void Learn(std::string_view text);

  // Free text without the secrets in it.
  std::string Text(std::string_view text);
  // The path of a file as a whole, even where it does not look like one: "<path1>/model.py".
  std::string Path(std::string_view path);
  // The name of an instruction or computation; stand-ins are made of letters and digits.
  std::string Name(std::string_view name);
  // Code that is read again; stand-ins are made of letters and digits.
  std::string Code(std::string_view code);
  // Every key and text of a JSON document; input that is none is redacted as text.
  std::string Json(std::string_view json);

  // Whether Text would change the text; counts nothing.
  bool HasSecret(std::string_view text) const;
  // The text with its keys and tokens and the values of secret variables replaced, nothing else.
  std::string WithoutTokens(std::string_view text);

  // A payload was replaced as a whole, by PayloadStandIn.
  void CountPayload() { ++payloads_; }

  // How many were replaced, by kind; kinds without any are left out.
  std::vector<std::pair<std::string, int64_t>> Counts() const;

  // The length of a secret word (a user, a host or a value) that begins in `text` at `at`. 0: none.
  size_t WordAt(RedactionKind kind, std::string_view text, size_t at) const;

 private:
  struct Word {
    std::string text;  // lower case but for values
    RedactionKind kind;
  };
  void AddWord(RedactionKind kind, std::string_view text);
  // What is replaced: `kind` and a hit, in order and apart from one another.
  struct Span;
  using Kinds = uint8_t;  // bits by RedactionKind
  void FindIn(std::string_view text, Kinds kinds, std::vector<Span>& found) const;
  std::vector<Span> Find(std::string_view text, Kinds kinds) const;
  std::string Redact(std::string_view text, Kinds kinds, bool as_name);
  std::string StandIn(RedactionKind kind, std::string_view key, bool as_name);

  std::array<std::vector<Word>, 256> words_;  // by first character, longest first
  std::map<std::pair<RedactionKind, std::string>, size_t, std::less<>> numbers_;
  std::map<RedactionKind, size_t> last_number_;
  std::map<RedactionKind, int64_t> counts_;
  int64_t payloads_ = 0;
  std::stop_token stop_;
};

}  // namespace hloscope::debug
