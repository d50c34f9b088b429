// How many instructions and fusions a module has, without building it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hloscope::dump {

struct StageCounts {
  int64_t instructions = 0;  // of all computations
  int64_t computations = 0;
  int64_t fusions = 0;      // instructions with the opcode fusion
  std::string module_name;  // as the file says
  bool operator==(const StageCounts&) const = default;
};

// Of an HloProto or HloModuleProto in wire format; nullopt where it is neither or is cut off.
std::optional<StageCounts> CountInProto(std::string_view bytes);

// Of an HLO text printed as XLA's dumps are: one instruction on each line, operands by name. Gives
// what the parser would; nullopt for any other form, and for bytes that are no printable ASCII,
// which the parser must judge.
std::optional<StageCounts> CountInText(std::string_view text);

}  // namespace hloscope::dump
