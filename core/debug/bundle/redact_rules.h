// The rules of redactions.def: each says whether a secret begins at a place of a text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/debug/bundle/redactor.h"

namespace hloscope::debug {

/// Bytes of a text that are a secret: [begin, end). `key`: what equal stand-ins stand for.
/// `suffix`: written after the stand-in, as `/` between a folder and the file that stays.
struct RedactionHit {
  size_t begin = 0, end = 0;
  std::string key;
  std::string_view suffix = {};
  bool found() const { return end > begin; }
  size_t size() const { return end - begin; }
};

// The first secret of this kind that a word at `at` shows; it may begin after `at` (the value after
// a name), and no secret does that begins before it.
#define REDACTION(kind, name, find, what) \
  RedactionHit find(const Redactor& redactor, std::string_view text, size_t at);
#include "core/debug/bundle/redactions.def"
#undef REDACTION

// True at the first character of a word.
bool IsWordStart(std::string_view text, size_t at);
bool IsAlphanumeric(char c);  // a letter or digit
// The characters of names, of tokens, and of base 64.
bool IsNameCharacter(char c);
bool IsTokenCharacter(char c);
bool IsKeyCharacter(char c);
bool IsBase64Character(char c);

/// The length of the run of characters at `at` that no person wrote, as those of keys and their
/// hashes; 0: there is none.
size_t RandomLength(std::string_view text, size_t at);

/// The length of the run at `at` whose characters pass `test`, at most 8192.
template <typename Test>
size_t RunLength(std::string_view text, size_t at, Test test) {
  constexpr size_t kMax = 8192;
  size_t end = at;
  while (end < text.size() && end - at < kMax && test(text[end])) ++end;
  return end - at;
}

inline RedactionHit HitAt(std::string_view text, size_t begin, size_t length) {
  return {begin, begin + length, std::string(text.substr(begin, length))};
}

/// The value after `NAME=`, `NAME: "`, `"NAME": "` or `NAME%3D`, where the name ends at `end`.
/// `is_line`: it goes to the end of the line, as that of a header does.
struct ValueForm {
  bool after_colon = true, after_spaces = false, is_line = false;
};
RedactionHit ValueAfter(std::string_view text, size_t end, ValueForm form);

/// The folder and the base name of a path; the base name is empty where the last part is no plain
/// file name with an extension, which then belongs to the folder.
struct PathParts {
  std::string_view folder, base;
};
PathParts PartsOfPath(std::string_view path);

/// Whether `extension` is one of files that paths and messages name: "py", "cc", "npz".
bool IsFileExtension(std::string_view extension);

/// A text with its escapes (%2F, \\x2f, \\u002f, \\057, &#47;, =2F) decoded, and where each
/// character of it, and its end, is in the original. Empty: there are none.
struct DecodedText {
  std::string text;
  std::vector<size_t> origins;
};
DecodedText DecodeEscapes(std::string_view text);

// The name of the user whose home folder `path` begins with; empty: none.
std::string_view HomeOwner(std::string_view path);

}  // namespace hloscope::debug
