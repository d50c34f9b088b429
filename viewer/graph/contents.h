// Contents: a program by its scopes, and what each became: kernels, where they run, what they take.
// Each kernel counts once, at the last operation that it computes, so that rows sum up to the
// whole.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/lanes.h"
#include "core/graph/sums_below.h"
#include "viewer/facts/heat.h"
#include "viewer/graph/graph_kernels.h"

namespace hloscope::viewer {

struct ContentSums {
  graph::LaneCounts kernels = {};                     // by lane
  std::array<double, graph::kLaneCount> amount = {};  // by lane: see Contents::is_time
  double bytes = 0, flops = 0;                        // by shapes, all executions together
  double peak = 0;                                    // bytes live at the peak
  double hottest = 0;                                 // the largest amount of one kernel
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
  // What is counted of the compiled stage. `heat` gives the amounts; null, or of another stage:
  // they are bytes. `peak` may be null.
  struct Measures {
    std::shared_ptr<const HeatFacts> heat, bytes, flops, peak;
    auto operator<=>(const Measures&) const = default;
  };
  // `kernels` of what was compiled; `source` null where the program is that stage itself.
  Contents(std::shared_ptr<const hlo::Module> program, std::shared_ptr<const StageKernels> kernels,
           const SourceKernels* source, Measures measures);

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
  // Of the amounts.
  const HeatFacts& amounts() const { return *measures_.heat; }
  const std::shared_ptr<const HeatFacts>& shared_amounts() const { return measures_.heat; }
  bool has_peak() const { return measures_.peak != nullptr; }

 private:
  void Assign(const SourceKernels* source);
  void AssignByName();
  void AssignPeak();
  void FindKinds();
  ContentSums Sum(hlo::InstructionId id) const;
  double PeakOf(hlo::InstructionId id) const {
    return id.index < peak_of_.size() ? peak_of_[id.index] : 0;
  }
  void Add(hlo::InstructionId id, ContentSums& sums) const;

  std::shared_ptr<const hlo::Module> program_;
  std::shared_ptr<const StageKernels> kernels_;
  Measures measures_;
  std::vector<double> peak_of_;  // by instruction of the program
  double unassigned_peak_ = 0;
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

// By computation: the op_names of the calls around it, which inlining puts in front of those in it,
// with their `/`; empty: none.
std::vector<std::string> NamesInFront(const hlo::Module& module);

// Null while it, or what it needs, is being found.
std::shared_ptr<const Contents> ContentsOf(Context& context, int32_t module, int32_t stage,
                                           const std::shared_ptr<const hlo::Module>& program,
                                           const std::shared_ptr<const StageKernels>& kernels,
                                           const std::shared_ptr<const SourceKernels>& source);

}  // namespace hloscope::viewer
