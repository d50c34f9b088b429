// LaneFunction: a scalar computation (reducer, comparator, map body) applied to many lanes at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/eval/lanes.h"
#include "core/eval/machine.h"

namespace hloscope::eval {

// Elementwise computations become a straight list of lane kernels over registers; anything else is
// evaluated lane by lane, to the same result.
class LaneFunction {
 public:
  static constexpr int64_t kLanes = 256;

  // All parameters and results must be scalars (results may be a tuple of them).
  static Result<LaneFunction> Compile(Machine& machine, hlo::ComputationId computation);

  // Applies the computation to lanes [0, count). `in` has the elements of each parameter, `out`
  // room for those of each result; they must not overlap.
  Status Run(std::span<const std::byte* const> in, std::span<std::byte* const> out, int64_t count);

  std::span<const hlo::ElementType> parameter_types() const { return parameters_; }
  std::span<const hlo::ElementType> result_types() const { return results_; }
  // True for a reducer of k values (2k parameters) each of whose results is one associative
  // operation (add, multiply, minimum, maximum, and, or, xor) of the two parameters it stands for,
  // conversions aside: then elements may be combined in any grouping.
  bool IsAssociative() const;

 private:
  struct Step {
    LaneKernel kernel;
    std::array<uint32_t, 3> in = {};
    uint32_t out = 0;
    hlo::Opcode opcode = {};
  };
  struct Register {
    std::byte* data = nullptr;  // own lanes; null for a parameter
    int size = 0;               // bytes of an element
  };
  friend class LaneCompiler;

  Status RunLaneByLane(std::span<const std::byte* const> in, std::span<std::byte* const> out,
                       int64_t count);
  void RunBlock(std::span<const std::byte* const> in, std::span<std::byte* const> out,
                int64_t begin, int64_t count);

  Machine* machine_ = nullptr;
  hlo::ComputationId computation_;
  bool compiled_ = false;
  std::vector<hlo::ElementType> parameters_, results_;
  std::vector<Step> steps_;
  std::vector<Register> registers_;   // parameters first
  std::vector<uint32_t> outputs_;     // registers
  std::vector<bool> is_step_result_;  // of each register: it may be computed in the output's place
  std::vector<std::byte*> current_;   // where each register's lanes are in this block
  std::vector<std::shared_ptr<std::byte[]>> storage_;
};

}  // namespace hloscope::eval
