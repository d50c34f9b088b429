// Arguments that could be donated: results of the same bytes would take their memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/dump/readers/buffers.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

/// An argument whose memory a result could take.
struct Donation {
  int64_t parameter = -1;
  std::vector<int64_t> parameter_index, output_index;  // in the argument and in the result
  std::string instruction, name, source;  // of the parameter: "p.3", "params['w']", "a.py:12"
  int64_t bytes = 0;
};

/// Of a scheduled module, as XLA pairs them, most bytes first: an argument that is not donated yet
/// with a result that its last user writes where it reads it, or that is written later.
std::vector<Donation> DonationsOf(const hlo::Module& module);

/// Before a result is written, its memory may hold temporaries; that of an argument cannot. What
/// the temporaries need in addition with these donations, without fragments.
int64_t GrowthOfTemporaries(const hlo::Module& module, const dump::BufferTable& table,
                            std::span<const Donation> donations);

}  // namespace hloscope::analysis
