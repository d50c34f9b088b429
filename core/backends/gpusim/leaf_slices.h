// LeafSlices: where each array of each value of a module lies.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/backends/gpusim/device_program.h"
#include "core/dump/readers/buffers.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

// Buffer assignments name the instruction that defines a value; instructions that only pass values
// on are followed to it.
class LeafSlices {
 public:
  LeafSlices(const hlo::Module& module, const dump::BufferTable& buffers);

  // The slice of the array at that index of an instruction's value; unknown where the assignment
  // has none.
  Slice Of(hlo::InstructionId id, std::span<const int64_t> index) const;
  // Those of all its arrays, in the order of their indices. Tokens have none and are unknown.
  std::vector<Slice> AllOf(hlo::InstructionId id) const;

 private:
  struct Leaf {
    hlo::InstructionId id;
    std::vector<int64_t> index;
  };
  // One step towards what defines it; false where there is none.
  bool Follow(Leaf& leaf) const;
  bool FollowAsync(Leaf& leaf) const;

  const hlo::Module& module_;
  const hlo::CallGraph& calls_;
  std::map<std::pair<std::string, std::vector<int64_t>>, Slice> slices_;
};

}  // namespace hloscope::replay
