// How near the interpreter comes to the true value, by opcode and element type, as it was measured.
#pragma once

#include <span>
#include <string_view>

namespace hloscope::eval {

// The worst distance of an opcode's results on some element types: "exact", a number of units in
// the last place, or "unsupported".
struct CoverageRow {
  std::string_view opcode, distance;
  std::string_view types;  // names with a space between
};

// The rows of coverage.def: those of an opcode are neighbours.
std::span<const CoverageRow> CoverageRows();

}  // namespace hloscope::eval
