// Lanes: elementwise instructions as loops over arrays of elements, one result per lane. Everything
// that applies an operation to many elements (elementwise kernels, reducers, comparators) goes
// through these loops, so an operation has one definition.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/hlo/module.h"

// Before a loop over lanes: the result's may be an operand's own, but never overlap otherwise.
#if defined(__clang__)
#define HLOSCOPE_LANES_ARE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define HLOSCOPE_LANES_ARE_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace hloscope::eval {

struct Lanes {
  std::array<const std::byte*, 3> in = {};
  std::byte* out = nullptr;
  int64_t count = 0;
  int bits = 0;                              // width of the integers at hand
  int exponent_bits = 0, mantissa_bits = 0;  // reduce-precision
};
using LaneLoop = void (*)(const Lanes&);

// Updates of single elements of a result, combined where they are, in order: update i goes to
// element to[i]. Those outside [begin, end) are left out.
struct Updates {
  std::byte* result = nullptr;
  std::span<const int64_t> to;
  const std::byte* updates = nullptr;
  int64_t begin = 0, end = 0;
};
using UpdateLoop = void (*)(const Updates&);

// The loop of one instruction, and how its operands and result are brought to the loop's types:
// floats narrower than f32 are computed as f64 and rounded once, integers narrower than a byte as
// bytes that wrap to their width.
class LaneKernel {
 public:
  // The kernel of an elementwise instruction for its operands' element types; nullopt where there
  // is none.
  static Result<LaneKernel> Find(const hlo::Module& module, const hlo::Instruction& instruction);

  // `in` and `out` hold elements of the instruction's own types; out may be one of `in`.
  void Run(std::array<const std::byte*, 3> in, std::byte* out, int64_t count) const;

  int operand_count() const { return operand_count_; }
  hlo::ElementType result_type() const { return result_; }

 private:
  void RunNarrow(std::array<const std::byte*, 3> in, std::byte* out, int64_t count) const;

  LaneLoop loop_ = nullptr;  // null: a conversion of in[0]
  int operand_count_ = 0;
  std::array<hlo::ElementType, 3> operands_ = {};
  hlo::ElementType result_ = {};
  bool narrow_ = false;  // some operand or the result is a float narrower than f32
  bool wrap_ = false;    // the result is an integer narrower than a byte
  Lanes shared_;         // bits and parameters
};

// The type a loop computes `type` in: f64 for floats narrower than f32, s8 and u8 for integers
// narrower than a byte, else the type itself.
hlo::ElementType LoopType(hlo::ElementType type);
constexpr bool IsNarrowFloat(hlo::ElementType type) {
  return hlo::IsFloat(type) && hlo::BitWidth(type) < 32;
}

// Loops by opcode and loop type; null where the opcode is not defined for the type.
LaneLoop FindFloatUnaryLoop(hlo::Opcode opcode, hlo::ElementType type);
LaneLoop FindComplexUnaryLoop(hlo::Opcode opcode, hlo::ElementType type);
LaneLoop FindUnaryLoop(hlo::Opcode opcode, hlo::ElementType type);
LaneLoop FindComplexBinaryLoop(hlo::Opcode opcode, hlo::ElementType type);
LaneLoop FindBinaryLoop(hlo::Opcode opcode, hlo::ElementType type);
// For the associative operations on types that are their own loop type.
UpdateLoop FindUpdateLoop(hlo::Opcode opcode, hlo::ElementType type);
// Elements of that size are replaced by their updates.
UpdateLoop FindReplaceLoop(int storage_bytes);
// For the total order `type` may be a narrow float, whose elements are compared as they are.
LaneLoop FindCompareLoop(hlo::ComparisonDirection direction, bool total_order,
                         hlo::ElementType type);
// Select and clamp; select goes by the storage size of its values.
LaneLoop FindSelectLoop(int storage_bytes);
LaneLoop FindClampLoop(hlo::ElementType type);
LaneLoop FindComplexClampLoop(hlo::ElementType type);
LaneLoop FindReducePrecisionLoop(hlo::ElementType type);

}  // namespace hloscope::eval
