// Which pieces a dump lacks.
#include "core/dump/missing.h"

#include <fmt/format.h>

#include "core/dump/dump_model.h"

namespace hloscope::dump {

std::string MissingPiece::ToString() const {
  return flag.empty() ? fmt::format("no {}: {}", what, why)
                      : fmt::format("no {}: {} (add {})", what, why, flag);
}

std::vector<MissingPiece> FindMissing(const DumpModel& model) {
  std::vector<MissingPiece> missing;
  if (model.modules().empty())
    missing.push_back({-1, "modules", "XLA writes them when asked to", "--xla_dump_to=DIR"});
  return missing;
}

}  // namespace hloscope::dump
