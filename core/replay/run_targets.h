// What a run can be compiled for, other than for everything that the machine has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace hloscope::replay {

// The flag of XLA that makes `platform` compile for `target`, an instruction set of run_targets.cc
// in any case of letters; nullopt for "native", which is the machine itself. `option` is what asks.
// Input error: no such target; a platform that compiles nothing, or runs on its device only; an
// instruction set that this machine has not.
Result<std::optional<std::pair<std::string, std::string>>> FlagOfTarget(std::string_view option,
                                                                        std::string_view platform,
                                                                        std::string_view target);

// The flag of XLA that names passes which are left out, separated by commas; our own compiler reads
// it too, with the names of its passes and, on a device, the words of libraries
// (libraries/libraries.def).
inline constexpr std::string_view kDisablePassesFlag = "xla_disable_hlo_passes";
// True where the flag of that name, without dashes, has an effect on the platform.
bool ReadsFlag(std::string_view platform, std::string_view flag);
// True where our own compiler makes the code that runs there.
bool IsOwnCompiler(std::string_view platform);

}  // namespace hloscope::replay
