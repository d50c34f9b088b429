// Hashes of where instructions come from in the user's program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::analysis {

// By instruction; 0 where it has no op_name. op_names are taken with those of the calls that their
// computation would be inlined into in front.
struct OriginHashes {
  std::vector<uint64_t> exact;        // with all stack frames
  std::vector<uint64_t> near;         // with the beginning of the innermost place only
  std::vector<uint64_t> name;         // the op_name alone
  std::vector<std::string> prefixes;  // by computation: what inlining puts in front, with its `/`
};

// `only_caller` is the only instruction that calls a computation, 0xffffffff for none or several.
// `with_frames` false: frames are compared by number, not by what the tables say.
OriginHashes HashOrigins(const hlo::Module& module, std::span<const uint32_t> only_caller,
                         bool with_frames);

}  // namespace hloscope::analysis
