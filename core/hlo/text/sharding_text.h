// Pieces of the sharding reader that live in files of their own.
#pragma once

#include <vector>

#include "core/hlo/sharding.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {

// A V3 sharding from `mesh` or `maximal_mesh` to the closing brace.
Parsed<void> ReadNamedSharding(TextCursor& cursor, Sharding& sharding);

// {op_name="a"} or {{op_name="a"},{op_name="b"}}; appended to `metadata` in XLA's order of entries.
Parsed<void> ReadShardingMetadata(TextCursor& cursor, std::vector<ShardingMetadata>& metadata);

}  // namespace hloscope::hlo
