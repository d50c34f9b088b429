// The rules of redactions.def: each says whether a secret begins at a place of a text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/debug/bundle/redactor.h"

namespace hloscope::debug {

// What goes: `length` bytes from the place on, of which the first `kept` stay. `key` is what the
// stand-in stands for, `tail` what is written behind it.
struct RedactionHit {
  size_t length = 0;  // 0: none here
  size_t kept = 0;
  std::string key;
  std::string tail;
};

#define REDACTION(kind, name, find, what) \
  RedactionHit find(const Redactor& redactor, std::string_view text, size_t at);
#include "core/debug/bundle/redactions.def"
#undef REDACTION

// True at the first character of a word.
bool IsWordStart(std::string_view text, size_t at);
bool IsWordCharacter(char c);  // a letter or digit

// `API_KEY`, `password`, `auth_token`: a name whose value is a secret.
bool NamesSecret(std::string_view name);
// The same of an option of a command, in which shorter words are whole ones: `--hf-token`, `--key`.
bool NamesSecretOption(std::string_view option);

// The folder and the base name of a path; the base name is empty where the last part has no
// extension, which then belongs to the folder.
struct PathParts {
  std::string folder, base;
};
PathParts PartsOfPath(std::string_view path);

// The name of the user whose home folder `path` begins with; empty: none.
std::string_view HomeOwner(std::string_view path);

}  // namespace hloscope::debug
