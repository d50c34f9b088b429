// The origin_recovery_table of a module header, which modules keep verbatim, as XLA prints it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hloscope::hlo {

// `table` is what stands between the braces; the answer too, with its line breaks. nullopt if the
// table or a module inside it cannot be read.
std::optional<std::string> OriginTableText(std::string_view table);

}  // namespace hloscope::hlo
