// KernelWork: what the code of a kernel computes, as a loop over its results or unrolled: each
// element of each value once, in registers.
#pragma once

#include <cstdint>
#include <span>

#include "core/hlo/module.h"

namespace hloscope::compile {

// Indices of a value that are not the same in an iteration. With more than these, a loop computes
// it too often.
inline constexpr size_t kMaxMaps = 16;
// A loop goes through all parts of a concatenation for each vector.
inline constexpr size_t kMaxPartsInLoop = 4;
// So that the code stays small: elements of an unrolled kernel.
inline constexpr double kMaxUnrolled = 1024;

// Recomputation is counted over all values of a kernel: one that is computed at three indices and
// reads another at three computes that one nine times.
class KernelWork {
 public:
  // A value that the kernel computes, and how the kernel reads it.
  struct Value {
    double elements = 1, cost = 0;
    size_t maps = 1;         // different indices in an iteration
    double count = 1;        // reads over all iterations
    bool has_parts = false;  // it is a concatenation

    // Reads of the whole kernel are of no more elements than there are.
    double Demanded() const { return count < elements ? count : elements; }
  };

  KernelWork() = default;
  // `results`: elements of the root.
  KernelWork(bool is_elemental, bool for_gpu, double results)
      : may_unroll_(is_elemental && !for_gpu), for_gpu_(for_gpu), is_tiny_(results <= kMaxTiny) {}

  // Whether the value can be computed in the kernel by either form.
  bool FitsLoop(const Value& value) const;
  bool FitsUnrolled(const Value& value) const;
  // Whether the kernel computes each element of it once then.
  bool ComputesOnce(const Value& value) const {
    return FitsUnrolled(value) && (must_unroll_ || is_tiny_);
  }
  void Add(const Value& value);
  // Where both are parts of one kernel.
  void Add(const KernelWork& other);

  bool FitsUnrolled() const;
  bool must_unroll() const { return must_unroll_; }
  double unrolled_elements() const { return unrolled_; }

 private:
  static constexpr double kMaxTiny = 16;

  bool may_unroll_ = false, for_gpu_ = false, is_tiny_ = false;
  bool has_parts_ = false;      // only then it is unrolled
  bool must_unroll_ = false;    // a loop would compute something too often
  double unrolled_ = 0;         // elements
  size_t maps_ = 0;             // values in the code of a loop
  double own_ = 0, again_ = 0;  // time of the elements, and of those computed again
};

// Whether a kernel of these instructions (operands before users) is unrolled: then it is less work
// than the loop, of vectors of `lanes` elements.
bool IsUnrolled(const hlo::Module& module, std::span<const hlo::InstructionId> instructions,
                std::span<const hlo::InstructionId> roots, int lanes);

}  // namespace hloscope::compile
