// Flags as the text of an environment variable.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::debug {

// The flags of an XLA_FLAGS: words that begin with `--`; where it names a file, those of the file.
std::vector<std::string> FlagsOf(const std::string& xla_flags);

// The flags of a text, without the quotes around values; and the other way round.
std::vector<std::string> FlagWords(std::string_view text);
std::string FlagsText(const std::vector<std::string>& flags);

// The value of the last flag of that name; a flag alone is true.
std::optional<std::string> FlagValue(const std::vector<std::string>& flags, std::string_view name);

}  // namespace hloscope::debug
