// Names of options, variables and fields whose values are secrets.
#pragma once

#include <cstdint>
#include <string_view>

namespace hloscope::debug {

inline bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
inline bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// How surely `value` is a secret in `NAME=value`. kPerhaps: only where it looks like a key.
enum class SecretName : uint8_t { kNo, kPerhaps, kYes };

/// `API_KEY`, `sessionId`, `auth_token`: kYes; `rng_key`, `pass`: kPerhaps.
SecretName SecretNameOf(std::string_view name);

/// `API_KEY`, `password`, `auth_token`: a name whose value is always a secret.
bool NamesSecret(std::string_view name);

/// The same of an option of a command, in which shorter words are whole ones: `--hf-token`,
/// `--key`.
bool NamesSecretOption(std::string_view option);

/// A variable that names machines: `JAX_COORDINATOR_ADDRESS`, `TF_CONFIG`, `MASTER_HOST`.
bool NamesMachines(std::string_view variable);

/// Eight or more characters without a space, letters and digits among them.
bool LooksLikeKey(std::string_view value);

/// A name as XLA gives its passes: lower-case words and types or versions, with - or _ between:
/// `float-normalization-s4`, `cudnn-fused-convolution-rewriter-v2`.
bool LooksLikePass(std::string_view value);

/// Whether the value after `name`, which may be that of a secret, looks like a key; the name of a
/// pass after `pass` does not.
bool LooksLikeKeyOf(std::string_view name, std::string_view value);

}  // namespace hloscope::debug
