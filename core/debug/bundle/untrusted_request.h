// RequestFromUntrusted: what a run takes of a request that came in somebody else's file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// What is taken of a field of an untrusted request.
enum class UntrustedField : uint8_t {
  kAny,           // any value: it can name nothing on this machine
  kPlatformName,  // a name in platforms.def, never a file
  kTargetName,    // a name of GpuTargetNames(), never a file
  kOwn,           // nothing: the user's own value holds
  kAtMostOwn,     // the smaller of its value and the user's own
};

struct RefusedField {
  std::string name;    // "platform", "xla_flags.xla_dump_to"
  std::string reason;  // a clause that names the value and the option that sets it
};

struct UntrustedRequest {
  RunSpec request;                    // without inputs, outputs and workers
  std::vector<RefusedField> refused;  // empty: `request` is all that was recorded
  std::vector<std::string> notes;     // values that were lowered or are not needed
};

/// Whether an untrusted file may name that platform: a row of platforms.def, never a file
/// (pjrt:FILE.so).
bool MayNamePlatform(std::string_view name);

/// What may run of `recorded`, which is untrusted: the rows of run_options.def and
/// untrusted_flags.def, and nothing else. What `own` has (empty, 0 or absent: not given) is the
/// user's and replaces it.
UntrustedRequest RequestFromUntrusted(const RunSpec& recorded, const RunSpec& own);

}  // namespace hloscope::debug
