// Fuzz targets: each takes any bytes and must neither crash nor break its own oracle.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hloscope::fuzz {

// Runs one input; aborts with a message on standard error where the oracle does not hold.
using Target = void (*)(std::string_view input);

struct TargetRow {
  std::string_view name;
  Target run;
  std::string_view oracle;
  // The input that a seed file stands for, empty where it is no seed; null: the file itself.
  std::string (*seed)(std::string_view file) = nullptr;
};
std::span<const TargetRow> Targets();

}  // namespace hloscope::fuzz
