// ElementEmitter: the code of an element of an instruction, for the lanes of an index.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/codegen/emit/index.h"
#include "core/codegen/math/numbers.h"
#include "core/hlo/module.h"

namespace hloscope::codegen {

// Elements in memory, dense and row-major.
struct Array {
  llvm::Value* address = nullptr;
  bool is_fixed = true;  // nothing writes there while the kernel runs
};

class ElementEmitter {
 public:
  // `arrays`: by id, the instructions whose values are in memory.
  ElementEmitter(const hlo::Module& module, IndexMath& math,
                 std::unordered_map<uint32_t, Array> arrays)
      : module_(module), math_(math), b_(math.builder()), arrays_(std::move(arrays)) {}

  // The elements in registers; a scalar where all lanes want the same one.
  llvm::Value* Emit(hlo::InstructionId id, Index index);
  // The element of a scalar, or of an array's only element.
  llvm::Value* EmitScalar(hlo::InstructionId id) { return Emit(id, OnlyElement(id)); }

  // Where a block of the sizes of `window` begins along dimension d of an array: a start moved so
  // that it lies inside.
  LaneNumber Start(hlo::InstructionId start, Index index, int64_t last);

  // From here on the elements of the instruction, whatever the index, are this value, or are those
  // in memory.
  void Fix(hlo::InstructionId id, llvm::Value* value) { fixed_[id.index] = value; }
  void Fix(hlo::InstructionId id, const Array& array) { arrays_[id.index] = array; }

  // From here on large arrays are asked for so many elements ahead of where they are read in step.
  // Processors, which look ahead themselves, stop at the end of a page.
  void ReadAhead(int64_t elements) { ahead_ = elements; }

  // From here on elements at known indices are the same value however they are reached.
  void UnifyIndices() { unifies_indices_ = true; }

  // Gives the elements of arrays in its way: `load` reads the one at that place.
  using LoadHook = std::function<llvm::Value*(hlo::InstructionId id, llvm::Value* at,
                                              const std::function<llvm::Value*()>& load)>;
  void set_load_hook(LoadHook hook) { load_hook_ = std::move(hook); }

  // What was emitted before holds no longer: code behind this is not reached from it alone.
  void Forget() { scopes_.assign(1, {}); }
  // True if something could not be emitted; the code is of no use then.
  bool has_failed() const { return has_failed_; }

 private:
  struct Request {
    hlo::InstructionId id;
    Index index;
    auto operator<=>(const Request&) const = default;
  };
  struct Frame {
    Request request;
    std::vector<Request> operands;
    std::vector<llvm::Value*> values;
  };

  llvm::Value* Find(const Request& request) const;
  // The index as the element's number in the array, where it is known.
  void Unify(Request& request);
  // True where elements of the operands at one index each are all it takes.
  bool IsPlain(hlo::InstructionId id) const;
  std::vector<Request> OperandsOf(const Request& request);
  Index OperandIndex(const Request& request, size_t operand);
  llvm::Value* Finish(const Frame& frame);
  // Emits what is not plain.
  llvm::Value* Special(const Request& request);
  llvm::Value* Load(const Array& array, const Request& request);
  void Prefetch(hlo::InstructionId id, llvm::Value* address);
  llvm::Value* Constant(const Request& request);
  llvm::Value* Iota(const Request& request);
  llvm::Value* Pad(const Request& request);
  llvm::Value* Concatenate(const Request& request);
  llvm::Value* DynamicSlice(const Request& request);
  llvm::Value* Gather(const Request& request);
  llvm::Value* Failed(hlo::InstructionId id);

  // Whether `number` is below `limit`, read as unsigned: a scalar where it is uniform.
  llvm::Value* IsBelow(const LaneNumber& number, int64_t limit);
  struct Condition {
    llvm::Value* all = nullptr;    // of all lanes; null: true
    llvm::Value* lanes = nullptr;  // of each; null: true
  };
  void And(Condition& condition, llvm::Value* other);
  // The request's elements in lanes where the condition holds, `otherwise` elsewhere. What it takes
  // is not done where it holds nowhere.
  llvm::Value* Where(const Condition& condition, Request request, llvm::Value* otherwise);

  Index OnlyElement(hlo::InstructionId id);
  std::span<const int64_t> Sizes(hlo::InstructionId id) const {
    return module_.shape(id).dimensions();
  }
  std::span<const int64_t> Ints(hlo::InstructionId id, hlo::AttributeKey key) const {
    return module_.GetInts(module_[id], key);
  }

  const hlo::Module& module_;
  IndexMath& math_;
  Builder& b_;
  std::unordered_map<uint32_t, Array> arrays_;
  std::unordered_map<uint32_t, llvm::Value*> fixed_;
  std::vector<std::map<Request, llvm::Value*>> scopes_{1};
  int64_t emitted_ = 0;
  int depth_ = 0;
  int64_t ahead_ = 0;
  LoadHook load_hook_;
  bool unifies_indices_ = false;
  bool has_failed_ = false;
};

}  // namespace hloscope::codegen
