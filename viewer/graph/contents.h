// Contents: a program by its scopes, and what each became: kernels, where they run, what they take.
// Each kernel counts once, at the last operation that it computes, so that rows sum up to the
// whole.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/analysis/cost.h"
#include "core/graph/lanes.h"
#include "core/graph/sums_below.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/graph/graph_kernels.h"

namespace hloscope::viewer {

struct ContentSums {
  graph::LaneCounts kernels = {};                     // by lane
  std::array<double, graph::kLaneCount> amount = {};  // by lane: see Contents::is_time
  analysis::Cost cost;                                // by shapes
  int64_t operations = 0;                             // that were written: see graph::IsOperation
  uint32_t kernel = graph::kNoKernel;                 // where there is one, the first
  // Of all instructions the sum of their numbers, and how many: the middle is where it stands.
  double numbers = 0, instructions = 0;

  int64_t launches() const;
  double total() const;
  double middle() const { return instructions == 0 ? 0 : numbers / instructions; }
  ContentSums& operator+=(const ContentSums& other);
};

class Contents {
 public:
  // `kernels` of what was compiled; `source` null where the program is that stage itself. `sheet`
  // gives times of that stage; null: there are none, and amounts are bytes by shapes.
  Contents(std::shared_ptr<const hlo::Module> program, std::shared_ptr<const StageKernels> kernels,
           const SourceKernels* source, const KernelSheet* sheet);

  // Of a node with all that it calls. Bodies that several call count at the first.
  const ContentSums& Of(const graph::Tree& tree, graph::NodeId id) const;
  // Kernels that count at an instruction of the program.
  std::span<const hlo::InstructionId> CountedAt(hlo::InstructionId id) const;
  // Where a kernel counts; invalid: it was not traced.
  hlo::InstructionId OwnerOf(uint32_t kernel) const { return owner_[kernel]; }
  // Kernels that were not traced to an operation of the program, by number, and their sums.
  const std::vector<uint32_t>& unassigned() const { return unassigned_; }
  const ContentSums& unassigned_sums() const { return unassigned_sums_; }
  ContentSums SumsOfKernel(uint32_t kernel) const;
  const ContentSums& whole() const { return whole_; }
  bool is_time() const { return is_time_; }  // picoseconds; else bytes

 private:
  void Assign(const SourceKernels* source);
  void AssignByName();
  void FindKinds();
  ContentSums Sum(hlo::InstructionId id) const;
  void Add(hlo::InstructionId id, ContentSums& sums) const;

  std::shared_ptr<const hlo::Module> program_;
  std::shared_ptr<const StageKernels> kernels_;
  bool is_time_ = false;
  std::vector<double> amount_;             // by kernel
  std::vector<analysis::Cost> cost_;       // by kernel
  std::vector<hlo::InstructionId> owner_;  // by kernel
  graph::KernelMembers counted_;           // by instruction: its kernels, as numbers
  std::vector<uint32_t> unassigned_;
  // By instruction: it counts nothing, one operation, or more than that.
  enum class Kind : uint8_t { kNothing, kOperation, kMore };
  std::vector<Kind> kind_;
  std::vector<ContentSums> of_computation_;
  ContentSums whole_, unassigned_sums_;
  mutable graph::SumsBelow<ContentSums> below_;
  mutable std::unordered_map<uint32_t, ContentSums> of_leaf_;
};

// Null while it, or what it needs, is being found.
std::shared_ptr<const Contents> ContentsOf(Context& context, int32_t module, int32_t stage,
                                           const std::shared_ptr<const hlo::Module>& program,
                                           const std::shared_ptr<const StageKernels>& kernels,
                                           const std::shared_ptr<const SourceKernels>& source);

}  // namespace hloscope::viewer
