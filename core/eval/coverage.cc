#include "core/eval/coverage.h"

namespace hloscope::eval {
namespace {

constexpr CoverageRow kRows[] = {
#define COVERAGE(opcode, distance, types) {opcode, distance, types},
#include "core/eval/coverage.def"
#undef COVERAGE
};

}  // namespace

std::span<const CoverageRow> CoverageRows() { return kRows; }

}  // namespace hloscope::eval
