// origin_recovery_table: text in a module, OriginalValueRecoveryTableProto in protos.
#pragma once

#include <string>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/proto/wire_writer.h"

namespace hloscope::hlo {

// The text between the braces of `origin_recovery_table={…}`, as XLA prints it. `depth` counts the
// modules the table is inside of; beyond a few the text is left empty.
Result<std::string> ReadRecoveryText(std::string_view bytes, const Limits& limits, int64_t depth);
// Writes the entries of such a text.
void WriteRecoveryText(WireWriter& out, std::string_view text);

}  // namespace hloscope::hlo
