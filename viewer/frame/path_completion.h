// What a path that is being typed may become: the entries of its folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hloscope::viewer {

// Whole paths that begin as `typed` does, whatever the case of its last part: folders first and
// with a slash at the end, each part in the order of the alphabet. "~/" is the user's own folder;
// names that begin with a dot are left out unless one was typed. Empty where the folder cannot be
// read.
std::vector<std::string> CompletionsOf(std::string_view typed, size_t most);

// `typed` as far as all completions begin alike; `typed` itself where there is none.
std::string CommonBeginning(std::string_view typed, const std::vector<std::string>& completions);

}  // namespace hloscope::viewer
