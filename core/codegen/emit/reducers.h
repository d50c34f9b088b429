// Reducers: what the reduces of a kernel combine elements with.
#pragma once

#include <optional>
#include <vector>

#include "core/codegen/emit/element_emitter.h"
#include "core/codegen/emit/kernel.h"

namespace hloscope::codegen {

inline constexpr int64_t kFewLanes = 8;  // along a dimension; fewer are worth looking for others

// Values of all arrays that the reduces of a kernel reduce, in order, one per array.
using Accumulators = std::vector<llvm::Value*>;

// The operation that combines value `i` of `count` with its counterpart, in any grouping, if that
// is all that the computation does.
std::optional<hlo::Opcode> OnlyOperation(const hlo::Module& module, hlo::ComputationId applied,
                                         size_t i, size_t count, hlo::ElementType type);

class Reducers {
 public:
  explicit Reducers(const Kernel& kernel);

  // True if every reduce combines each of its arrays by one associative operation: then elements
  // may be grouped in any way, and sums and products of f16 and bf16 are kept in f32, to be rounded
  // once at the end.
  bool AreAssociative() const { return associative_; }
  // True if elements may be grouped where their order stays, and one taken twice: what chooses by
  // comparing, as argmax does.
  bool AreOrderedChoices() const;
  size_t count() const { return arrays_.size(); }
  // The type an accumulator is kept in, and that of the array.
  hlo::ElementType AccumulatorType(size_t i) const { return arrays_[i].accumulator; }
  hlo::ElementType ResultType(size_t i) const { return arrays_[i].type; }
  // Where accumulators of array i begin in memory that holds `elements` of each array, array by
  // array at multiples of 64 bytes; of count(): the bytes of all.
  int64_t PartialsOf(size_t i, int64_t elements) const;
  // The dimensions of all arrays, and which of them are reduced.
  std::span<const int64_t> sizes() const;
  std::span<const int64_t> dimensions() const;
  // The arrays themselves.
  std::vector<hlo::InstructionId> inputs() const;

  // What elements are first combined with: what leaves them as they are or, where there may be no
  // such, the initial values. `width` lanes.
  Accumulators Start(ElementEmitter& emitter, Builder& b, int width) const;
  // Reads the initial values here, for all code behind.
  void FixInitial(ElementEmitter& emitter) const;
  // The elements of all arrays at an index, in `width` lanes.
  Accumulators Elements(ElementEmitter& emitter, Builder& b, const Index& index, int width) const;
  // An element of the first array as accumulators are.
  llvm::Value* AsAccumulator(Builder& b, llvm::Value* element, int width) const;
  // Empty where there is no code.
  Accumulators Combine(Builder& b, const Accumulators& left, const Accumulators& right) const;
  // Combines the lanes of vectors, halves with halves; scalars.
  Accumulators CombineLanes(Builder& b, Accumulators vectors) const;
  // The results: the initial values taken in if Start() has not, rounded.
  Accumulators Results(ElementEmitter& emitter, Builder& b, Accumulators values) const;

 private:
  struct Array {
    hlo::InstructionId input, initial;
    hlo::ElementType type, accumulator;
    hlo::Opcode opcode = {};  // where associative
  };
  struct Reduce {
    hlo::ComputationId applied;
    size_t first, count;  // of its arrays
  };

  const hlo::Module& module_;
  hlo::InstructionId root_;
  std::vector<Array> arrays_;
  std::vector<Reduce> reduces_;
  bool associative_ = true;
};

// Room on a function's stack for `count` accumulators of each array, of `width` lanes.
class Slots {
 public:
  Slots(Builder& b, const Reducers& reducers, int width, int64_t count);
  Accumulators Load(llvm::Value* slot) const;
  void Save(llvm::Value* slot, const Accumulators& values) const;

 private:
  struct Room {
    hlo::ElementType element;
    llvm::Type* type;
    llvm::Value* address;
  };
  Builder& b_;
  std::vector<Room> rooms_;
};

}  // namespace hloscope::codegen
