// FusionGraph: the state of planning: which instructions are computed inside the kernels that read
// them, and which kernels read what.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/compile/fusion/index_map.h"
#include "core/compile/fusion/kernel_plan.h"
#include "core/compile/fusion/kernel_work.h"
#include "core/hlo/module.h"

namespace hloscope::compile {

// By position in its computation.
using Position = uint32_t;

// A kernel that reads a value, and how. A kernel is named by the position of its root.
struct Reader {
  Position kernel = 0;
  Reads reads;
};

enum class Role : uint8_t {
  kOutside,  // no kernel: a parameter, a call, whatever code is not written for
  kInCode,   // a constant that every kernel has in its code
  kRoot,     // yielded by a kernel
  kInside,   // computed inside every kernel that reads it
};

struct Node {
  Role role = Role::kOutside;
  bool is_read_outside = false;   // by what is no kernel, or it is the root of the computation
  std::string_view outside_user;  // the opcode of one that does
  std::vector<Reader> readers;
  // Of kernels.
  uint32_t size = 1;      // as KernelLimits counts
  uint32_t operands = 0;  // values read from outside
  KernelWork work;
};

// How a kernel reads a value.
struct KernelReads {
  Position kernel = 0;
  KernelWork::Value value;
};

class FusionGraph {
 public:
  // Decides for every instruction, users before operands.
  FusionGraph(const hlo::Module& module, hlo::ComputationId computation, bool for_gpu,
              std::vector<FusionDecision>& decisions);

  const hlo::Module& module() const { return module_; }
  size_t size() const { return nodes_.size(); }
  const Node& operator[](Position p) const { return nodes_[p]; }
  hlo::InstructionId id(Position p) const { return hlo::InstructionId(first_ + p); }
  Position position(hlo::InstructionId id) const { return id.index - first_; }
  // A concatenation that is not gone through element by element: its parts are copied.
  bool HasManyParts(Position p) const;

 private:
  struct ReaderKey {
    uint64_t position_and_kernel, map;
    bool operator==(const ReaderKey&) const = default;
  };
  struct ReaderHash {
    size_t operator()(const ReaderKey& key) const {
      return (key.position_and_kernel * 0x9e3779b97f4a7c15u ^ key.map) * 0x9e3779b97f4a7c15u >> 16;
    }
  };
  struct Verdict {
    bool is_fused = false;
    std::string reason;
  };

  void Decide(Position p);
  bool CanBeRoot(Position p) const;
  // What slices take of arrays can be copied by its kernel, row by row.
  void NoteCopied(Position concatenate);
  bool HasPartInCode(Position concatenate) const;
  // Distinct kernels among the readers.
  std::vector<KernelReads> KernelsOf(Position p) const;
  KernelWork::Value ValueOf(Position p, size_t maps, double count) const;
  Verdict Judge(Position p, const std::vector<KernelReads>& kernels) const;
  std::string Obstacle(Position p, const std::vector<KernelReads>& kernels) const;
  std::string ObstacleOfUpdate(Position p, hlo::InstructionId root) const;
  // Whether kernels of a GPU rearrange it as well as one of its own would.
  bool IsRearrangedInside(Position p, const std::vector<KernelReads>& kernels) const;
  void MakeOutside(Position p);
  void MakeRoot(Position p);
  void MakeInside(Position p, const std::vector<KernelReads>& kernels);
  // Says that the kernel's instruction `p`, read like that, reads its operands.
  void ReadOperands(Position p, Position kernel, const Reads& reads);
  void AddReader(Position p, Position kernel, const Reads& reads);

  const hlo::Module& module_;
  uint32_t first_;
  hlo::InstructionId root_;
  std::vector<Node> nodes_;
  std::vector<bool> pinned_;
  bool for_gpu_;
  // Position and kernel: what kernels read; parts of concatenations that kernels may take in.
  std::unordered_set<uint64_t> read_, copied_;
  std::unordered_map<ReaderKey, uint32_t, ReaderHash> reader_index_;
  std::vector<FusionDecision>& decisions_;
};

}  // namespace hloscope::compile
