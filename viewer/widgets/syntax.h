// Syntax: the coloured pieces of one line of code, and what of it may be folded away.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/listing/sniff.h"
#include "viewer/widgets/theme.h"

namespace hloscope::viewer {

struct Piece {
  std::string_view text;
  Color color = Color::kText;
};

// Pieces of a line by what kind of file it is of; together they are the line.
std::vector<Piece> ColorLine(std::string_view line, dump::FileKind kind);

// The line with long literals, metadata, backend configurations and the like cut to "{…}"; the line
// itself where there is nothing to fold.
std::string FoldLine(std::string_view line, dump::FileKind kind);

}  // namespace hloscope::viewer
