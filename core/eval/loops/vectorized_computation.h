// VectorizedComputation: a scalar computation (reducer, comparator, map body) applied to many lanes
// at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/eval/loops/lanes.h"
#include "core/eval/machine/machine.h"

namespace hloscope::eval {

// Elementwise computations become a straight list of lane kernels over registers; anything else is
// evaluated lane by lane, to the same result.
class VectorizedComputation {
 public:
  static constexpr int64_t kLanes = 256;

  // All parameters and results must be scalars (results may be a tuple of them).
  static Result<VectorizedComputation> Compile(Machine& machine, hlo::ComputationId computation);

  VectorizedComputation(VectorizedComputation&&) = default;
  VectorizedComputation& operator=(VectorizedComputation&&) = default;
  // The same function for another thread; one instance must not run on two at once.
  VectorizedComputation Clone() const { return VectorizedComputation(*machine_, program_); }

  // Applies the computation to lanes [0, count). `in` has the elements of each parameter, `out`
  // room for those of each result; they must not overlap.
  Status Run(std::span<const std::byte* const> in, std::span<std::byte* const> out, int64_t count);

  // Calls body(function, range) for the ranges of Machine::ForRanges: on all threads, each range
  // with an instance of its own, where the computation is elementwise; else here, in order.
  template <typename Body>
  Status ForRanges(int64_t n, int64_t grain, const Body& body) {
    if (n <= grain) return n <= 0 ? Status{} : body(*this, IndexRange{0, n});
    if (RunsAsLoops()) {
      return machine_->ForRanges(n, grain, [&](IndexRange range) {
        VectorizedComputation own = Clone();
        return body(own, range);
      });
    }
    for (int64_t begin = 0; begin < n; begin += grain) {
      HLOSCOPE_TRY(machine_->run().Look());
      HLOSCOPE_TRY(body(*this, IndexRange{begin, std::min(n, begin + grain)}));
    }
    return {};
  }

  std::span<const hlo::ElementType> parameter_types() const { return program_->parameters; }
  std::span<const hlo::ElementType> result_types() const { return program_->results; }
  // True for a reducer of k values (2k parameters) each of whose results is one associative
  // operation (add, multiply, minimum, maximum, and, or, xor) of the two parameters it stands for,
  // conversions aside: then elements may be combined in any grouping.
  bool IsAssociative() const { return program_->associative; }
  // True if it is applied in loops over lanes, which nobody observes.
  bool RunsAsLoops() const { return program_->compiled && !machine_->ObservesLanes(); }
  // The kernel, if the whole function is one operation of parameters 0 and 1 in this order. It
  // computes in place: out may be one of the operands.
  const LaneKernel* OnlyOperation() const;
  // The loop over single elements of a result if the function is one operation or its parameter 1;
  // null otherwise.
  UpdateLoop OnlyUpdate() const;
  // True if the function is its parameter `i`.
  bool IsParameter(uint32_t i) const;

 private:
  struct Step {
    LaneKernel kernel;
    std::array<uint32_t, 3> in = {};
    uint32_t out = 0;
    hlo::Opcode opcode = {};
  };
  enum class Source : uint8_t { kParameter, kConstant, kStep };
  struct Register {
    Source source;
    int size = 0;              // bytes of an element
    size_t at = 0;             // where its lanes begin in the scratch
    std::byte value[16] = {};  // of a constant
  };
  // What the computation was compiled to; instances share it.
  struct Program {
    hlo::ComputationId computation;
    bool compiled = false;
    bool associative = false;
    std::vector<hlo::ElementType> parameters, results;
    std::vector<Step> steps;
    std::vector<Register> registers;  // parameters first
    std::vector<uint32_t> outputs;    // registers
    size_t scratch_bytes = 0;
  };
  friend class LaneCompiler;

  VectorizedComputation(Machine& machine, std::shared_ptr<const Program> program)
      : machine_(&machine), program_(std::move(program)) {}

  static bool IsAssociative(const Program& program);
  void MakeScratch();
  Status RunLaneByLane(std::span<const std::byte* const> in, std::span<std::byte* const> out,
                       int64_t count);
  void RunBlock(std::span<const std::byte* const> in, std::span<std::byte* const> out,
                int64_t begin, int64_t count);

  Machine* machine_;
  std::shared_ptr<const Program> program_;
  std::vector<std::byte*> current_;  // where each register's lanes are in this block
  std::unique_ptr<std::byte[]> scratch_;
};

using ElementTypes = std::vector<hlo::ElementType>;
ElementTypes ElementTypesOf(std::span<const Value> arrays);
ElementTypes ElementTypesOf(const hlo::Shape& shape);  // of its leaves

// A function from lanes of the element types `from` to lanes of `to`. Unsupported where the
// computation is of other types: XLA's verifier lets floats of several types meet.
Result<VectorizedComputation> CompileLanes(const KernelCall& call, hlo::ComputationId computation,
                                           const ElementTypes& from, const ElementTypes& to);
// A reducer of arrays of the element types `arrays`: from 2k lanes to k. Each of `others`, what it
// is applied to besides, has to be of the same types.
Result<VectorizedComputation> CompileReducer(const KernelCall& call, hlo::ComputationId computation,
                                             const ElementTypes& arrays,
                                             std::initializer_list<ElementTypes> others = {});

}  // namespace hloscope::eval
