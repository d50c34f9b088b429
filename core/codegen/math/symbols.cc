// The functions that compiled code calls.
#include "core/codegen/math/symbols.h"

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "core/codegen/math/inline_functions.h"

namespace hloscope::codegen {
namespace {

using hlo::Opcode;
using llvm::Value;

// A function of the runtime, or two: of f32 and f64, or of c64 and c128.
struct Row {
  Opcode opcode;
  const char* of_single;
  const char* of_double;
  bool is_complex = false;
};

#define UNARY(opcode, function) \
  {Opcode::opcode, "hloscope_" #opcode "_f32", "hloscope_" #opcode "_f64"},
#define BINARY UNARY
#define COMPLEX(opcode, function) \
  {Opcode::opcode, "hloscope_" #opcode "_c64", "hloscope_" #opcode "_c128", true},
#define RUNTIME(name, type, function)
constexpr Row kRows[] = {
#include "core/linking/runtime/symbols.def"
};
#undef UNARY
#undef BINARY
#undef COMPLEX
#undef RUNTIME

// Empty where the table has no such row.
std::string FindName(Opcode opcode, bool is_double, bool is_complex) {
  for (const Row& row : kRows) {
    if (row.opcode != opcode || row.is_complex != is_complex) continue;
    return is_double ? row.of_double : row.of_single;
  }
  return {};
}

// Room for the lanes of a value, in the entry of the function that is being written.
Value* RoomFor(Builder& b, Value* like) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  Builder at(&entry, entry.begin());
  return at.CreateAlloca(like->getType());
}

// The function of that name, which is one of the table.
Value* CallLanes(Builder& b, const std::string& name, std::span<Value* const> operands) {
  llvm::Type* type = operands[0]->getType();
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const unsigned lanes = vector == nullptr ? 1 : vector->getNumElements();
  std::vector<Value*> places;
  for (Value* operand : operands) {
    places.push_back(RoomFor(b, operand));
    b.CreateStore(operand, places.back());
  }
  llvm::Type* pointer = b.getPtrTy();
  if (places.size() == 1) {
    places.push_back(llvm::ConstantPointerNull::get(b.getPtrTy()));
  }
  Value* out = RoomFor(b, operands[0]);
  llvm::Module* module = b.GetInsertBlock()->getModule();
  llvm::FunctionCallee function = module->getOrInsertFunction(
      name,
      llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer, b.getInt64Ty()}, false));
  if (auto* declared = llvm::dyn_cast<llvm::Function>(function.getCallee())) {
    declared->setDoesNotThrow();
    declared->setMemoryEffects(llvm::MemoryEffects::argMemOnly());
  }
  b.CreateCall(function, {places[0], places[1], out, b.getInt64(lanes)});
  return b.CreateLoad(type, out);
}

}  // namespace

Value* CallByLane(Builder& b, Opcode opcode, std::span<Value* const> operands) {
  if (WritesForGpu(b)) {
    if (Value* value = InlineFunction(b, opcode, operands)) return value;
  }
  llvm::Type* type = operands[0]->getType()->getScalarType();
  const std::string name = FindName(opcode, type->isDoubleTy(), false);
  return name.empty() ? nullptr : CallLanes(b, name, operands);
}

Value* CallByLane(Builder& b, Opcode opcode, std::span<Value* const> operands,
                  hlo::ElementType type) {
  const std::string name = FindName(opcode, type == hlo::ElementType::kC128, true);
  return name.empty() ? nullptr : CallLanes(b, name, operands);
}

}  // namespace hloscope::codegen
