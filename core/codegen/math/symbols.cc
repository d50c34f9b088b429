// The functions that compiled code calls.
#include "core/codegen/math/symbols.h"

#include <llvm/IR/Module.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/complex_functions.h"
#include "core/codegen/runtime/sort.h"

namespace hloscope::codegen {
namespace {

using namespace complex_functions;
using hlo::Opcode;
using llvm::Value;

// One step of Newton's method brings the library's 3 ULP to half of one.
double ExactCbrt(double x) {
  const double root = std::cbrt(x);
  if (root == 0 || !std::isfinite(root)) return root;
  const long double y = root;
  return static_cast<double>(y - (y * y * y - x) / (3 * y * y));
}

// Where the target has no instructions for half precision.
float HalfToFloat(_Float16 x) { return static_cast<float>(x); }
_Float16 FloatToHalf(float x) { return static_cast<_Float16>(x); }

// Arrays of lanes: y is null for functions of one number.
template <typename F, typename T>
void Lanes(const T* x, const T* y, T* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<T>(
        F::Of(static_cast<double>(x[i]), y == nullptr ? 0.0 : static_cast<double>(y[i])));
  }
}

#define UNARY(opcode, function)                             \
  struct opcode##Function {                                 \
    static double Of(double x, double) { return function; } \
  };
#define BINARY(opcode, function)                              \
  struct opcode##Function {                                   \
    static double Of(double x, double y) { return function; } \
  };
#define RUNTIME(name, type, function)
#define COMPLEX(opcode, function)
#include "core/codegen/math/symbols.def"
#undef UNARY
#undef BINARY

// Arrays of complex numbers, likewise.
template <typename F, typename T>
void ComplexLanes(const std::complex<T>* x, const std::complex<T>* y, std::complex<T>* out,
                  int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (requires { F::Of(x[i], x[i]); }) {
      out[i] = F::Of(x[i], y[i]);
    } else {
      out[i] = F::Of(x[i]);
    }
  }
}
#undef RUNTIME
#undef COMPLEX

// By repeated squaring, modulo 2^64; a negative exponent is 1/x^|y| rounded towards zero.
template <typename T>
T IntegerPower(T x, T y) {
  if constexpr (std::is_signed_v<T>) {
    if (y < 0) return x == 1 ? T{1} : x == -1 ? T{(y & 1) != 0 ? -1 : 1} : T{0};
  }
  uint64_t result = 1, base = static_cast<uint64_t>(x);
  for (auto e = static_cast<uint64_t>(y); e != 0; e >>= 1, base *= base) {
    if ((e & 1) != 0) result *= base;
  }
  return static_cast<T>(result);
}

template <typename T>
void PowerLanes(const T* x, const T* y, T* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = IntegerPower(x[i], y[i]);
}

struct Row {
  Opcode opcode;
  const char* name;  // without the element type
  // Functions of lanes of f32 and f64, or of c64 and c128.
  void* of_single;
  void* of_double;
  bool is_complex = false;
};

std::string NameFor(const Row& row, bool is_double) {
  const char* type = row.is_complex ? (is_double ? "_c128" : "_c64") : is_double ? "_f64" : "_f32";
  return std::string(row.name) + type;
}

std::span<const Row> Rows() {
#define UNARY(opcode, function)                                                       \
  {Opcode::opcode, #opcode, reinterpret_cast<void*>(&Lanes<opcode##Function, float>), \
   reinterpret_cast<void*>(&Lanes<opcode##Function, double>)},
#define BINARY UNARY
#define COMPLEX(opcode, function)                                                    \
  {Opcode::opcode, #opcode, reinterpret_cast<void*>(&ComplexLanes<function, float>), \
   reinterpret_cast<void*>(&ComplexLanes<function, double>), true},
#define RUNTIME(name, type, function)
  static const Row kRows[] = {
#include "core/codegen/math/symbols.def"
  };
#undef UNARY
#undef BINARY
#undef COMPLEX
#undef RUNTIME
  return kRows;
}

constexpr const char* kSignedPower = "kPower_s64";
constexpr const char* kUnsignedPower = "kPower_u64";

}  // namespace

std::span<const Symbol> Symbols() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Row& row : Rows()) {
      for (const bool is_double : {false, true}) names.push_back(NameFor(row, is_double));
    }
    return names;
  }();
  static const std::vector<Symbol> kSymbols = [] {
    std::vector<Symbol> symbols;
    size_t name = 0;
    for (const Row& row : Rows()) {
      symbols.push_back({kNames[name++].c_str(), row.of_single});
      symbols.push_back({kNames[name++].c_str(), row.of_double});
    }
    symbols.push_back({kSignedPower, reinterpret_cast<void*>(&PowerLanes<int64_t>)});
    symbols.push_back({kUnsignedPower, reinterpret_cast<void*>(&PowerLanes<uint64_t>)});
#define UNARY(opcode, function)
#define BINARY(opcode, function)
#define COMPLEX(opcode, function)
#define RUNTIME(name, type, function) \
  symbols.push_back({#name, reinterpret_cast<void*>(static_cast<type>(function))});
#include "core/codegen/math/symbols.def"
#undef UNARY
#undef BINARY
#undef COMPLEX
#undef RUNTIME
    return symbols;
  }();
  return kSymbols;
}

namespace {

// Empty where the table has no such row.
std::string FindName(Opcode opcode, bool is_double, bool is_complex) {
  for (const Row& row : Rows()) {
    if (row.opcode == opcode && row.is_complex == is_complex) return NameFor(row, is_double);
  }
  return {};
}

std::string NameOf(Opcode opcode, llvm::Type* type, bool is_signed) {
  if (type->isIntegerTy(64)) {
    if (opcode != Opcode::kPower) return {};
    return is_signed ? kSignedPower : kUnsignedPower;
  }
  return FindName(opcode, type->isDoubleTy(), false);
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

Value* CallByLane(Builder& b, Opcode opcode, std::span<Value* const> operands, bool is_signed) {
  const std::string name = NameOf(opcode, operands[0]->getType()->getScalarType(), is_signed);
  return name.empty() ? nullptr : CallLanes(b, name, operands);
}

Value* CallByLane(Builder& b, Opcode opcode, std::span<Value* const> operands,
                  hlo::ElementType type) {
  const std::string name = FindName(opcode, type == hlo::ElementType::kC128, true);
  return name.empty() ? nullptr : CallLanes(b, name, operands);
}

}  // namespace hloscope::codegen
