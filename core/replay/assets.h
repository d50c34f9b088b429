// Files that come with the program.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hloscope::replay {

// Where `name` lies, relative to the running program: below share/hloscope where it is installed,
// below `source_folder` of the source tree where it was built there.
std::optional<std::string> FindAsset(std::string_view name, std::string_view source_folder);

}  // namespace hloscope::replay
