// Kernels of a test, compiled and compared.
#include "tests/codegen/kernel_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "core/codegen/generate.h"
#include "core/eval/machine/evaluator.h"
#include "core/hlo/float_types.h"
#include "tests/hlo/parsed.h"

namespace hloscope::codegen {
namespace {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::Literal;
using hlo::Shape;

std::string target_of_tests;

template <typename Bits>
int64_t Ordered(Bits bits, int width) {
  const auto value = static_cast<int64_t>(bits);
  const int64_t sign = int64_t{1} << (width - 1);
  return width < 64 ? ((value & sign) != 0 ? -(value & (sign - 1)) : value)
                    : (value < 0 ? std::numeric_limits<int64_t>::min() - value : value);
}

struct Number {
  double value = 0;
  int64_t order = 0;
};

Number NumberAt(const Literal& literal, size_t i) {
  const ElementType type = literal.shape().element_type();
  uint64_t bits = 0;
  const auto size = static_cast<size_t>(hlo::StorageBytes(type));
  std::memcpy(&bits, literal.bytes().data() + i * size, std::min(size, sizeof(bits)));
  const int64_t order = Ordered(bits, hlo::BitWidth(type));
  if (type == ElementType::kF64) return {std::bit_cast<double>(bits), order};
  if (type == ElementType::kF32) {
    return {static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))), order};
  }
  const hlo::FloatFormat* format = hlo::FindFloatFormat(type);
  if (format == nullptr) return {0, static_cast<int64_t>(bits)};
  return {static_cast<double>(hlo::DecodeFloat(*format, static_cast<uint32_t>(bits))), order};
}

template <typename T>
bool AreEqualPairs(const Literal& got, const Literal& want, size_t i) {
  T a[2], b[2];
  std::memcpy(a, got.bytes().data() + i * sizeof(a), sizeof(a));
  std::memcpy(b, want.bytes().data() + i * sizeof(b), sizeof(b));
  const auto same = [](T x, T y) {
    return (std::isnan(x) && std::isnan(y)) || std::memcmp(&x, &y, sizeof(T)) == 0;
  };
  return same(a[0], b[0]) && same(a[1], b[1]);
}

bool IsWithin(const Literal& got, const Literal& want, size_t i, const Bound& bound) {
  const ElementType type = want.shape().element_type();
  if (type == ElementType::kC64) return AreEqualPairs<float>(got, want, i);
  if (type == ElementType::kC128) return AreEqualPairs<double>(got, want, i);
  // Nothing is left in the rest of a byte.
  if (hlo::IsFloat(type) && hlo::BitWidth(type) < 8 && bound.ulps == 0) {
    return got.bytes()[i] == want.bytes()[i];
  }
  const Number a = NumberAt(got, i), b = NumberAt(want, i);
  if (!hlo::IsFloat(want.shape().element_type())) return a.order == b.order;
  if (std::isnan(b.value) || std::isnan(a.value)) return std::isnan(a.value) == std::isnan(b.value);
  if (std::memcmp(&a.value, &b.value, sizeof(double)) == 0) return true;
  if (bound.ulps > 0 && std::abs(static_cast<double>(a.order - b.order)) <= bound.ulps) return true;
  return bound.relative > 0 && std::abs(a.value - b.value) <=
                                   bound.relative * std::max(std::abs(a.value), std::abs(b.value));
}

void ExpectEqual(const Literal& got, const Literal& want, const Bound& bound,
                 const std::string& text) {
  const auto count = static_cast<size_t>(want.shape().ElementCount().value());
  int shown = 0;
  for (size_t i = 0; i < count && shown < 4; ++i) {
    if (IsWithin(got, want, i, bound)) continue;
    ++shown;
    const Number a = NumberAt(got, i), b = NumberAt(want, i);
    ADD_FAILURE() << "element " << i << ": got " << a.value << " (" << a.order << "), want "
                  << b.value << " (" << b.order << ")\n"
                  << text;
  }
}

// Where pages that end the program when they are touched lie beside the arrays of a kernel.
enum class Guard { kBefore, kBehind };

// Bytes with such a page right before or right behind them.
class GuardedBytes {
 public:
  GuardedBytes(size_t size, Guard guard) : size_(size) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inside = (size + page - 1) / page * page;
    mapped_ = inside + page;
    pages_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const bool is_before = guard == Guard::kBefore;
    mprotect(is_before ? pages_ : pages_ + inside, page, PROT_NONE);
    data_ = is_before ? pages_ + page : pages_ + inside - size;
  }
  GuardedBytes(GuardedBytes&& other) noexcept { *this = std::move(other); }
  GuardedBytes& operator=(GuardedBytes&& other) noexcept {
    std::swap(pages_, other.pages_);
    std::swap(mapped_, other.mapped_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~GuardedBytes() {
    if (pages_ != nullptr) munmap(pages_, mapped_);
  }

  std::byte* data() const { return data_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte *pages_ = nullptr, *data_ = nullptr;
  size_t mapped_ = 0, size_ = 0;
};

// What a kernel needs to be called.
struct Memory {
  std::vector<GuardedBytes> operands, results;
  std::vector<std::byte> scratch;
};

// Each operand and result lies at the guarded end of its pages.
// `overwritten`: by result, the operand in whose memory it is made, or -1.
Memory Called(const hlo::Module& module, hlo::InstructionId root, const compile::KernelCode& code,
              const std::vector<Literal>& arguments, uint64_t seed, Guard guard,
              const std::vector<int>& overwritten) {
  Memory memory;
  for (const hlo::InstructionId operand : module.operands(root)) {
    const hlo::Instruction& i = module[operand];
    const Literal& literal =
        i.opcode == hlo::Opcode::kConstant
            ? *module.Get<Literal>(i, AttributeKey::kConstantValue)
            : arguments[static_cast<size_t>(module.GetInt(i, AttributeKey::kParameterNumber))];
    memory.operands.emplace_back(literal.bytes().size(), guard);
    std::ranges::copy(literal.bytes(), memory.operands.back().data());
  }
  const auto leaves = module.shape(root).Leaves();
  for (const auto& leaf : leaves) {
    memory.results.emplace_back(static_cast<size_t>(leaf.second->ByteSize().value()), guard);
    std::ranges::fill(memory.results.back().bytes(), std::byte{0x5a});
  }
  memory.scratch.assign(static_cast<size_t>(code.scratch_bytes) + 64, std::byte{0xa5});
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  for (auto& each : memory.operands) in.push_back(each.data());
  for (size_t i = 0; i < memory.results.size(); ++i) {
    int in_place = code.in_place.empty() ? -1 : code.in_place[i];
    if (overwritten[i] >= 0) in_place = overwritten[i];
    if (in_place >= 0) {
      std::ranges::copy(memory.operands[static_cast<size_t>(in_place)].bytes(),
                        memory.results[i].data());
    }
    out.push_back(memory.results[i].data());
    if (in_place >= 0) in[static_cast<size_t>(in_place)] = out.back();
  }
  const auto address = reinterpret_cast<uintptr_t>(memory.scratch.data());
  std::byte* scratch = memory.scratch.data() + (64 - address % 64) % 64;
  std::vector<int64_t> order(static_cast<size_t>(code.grains));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed);
  if (order.size() < 1000) std::shuffle(order.begin(), order.end(), random);
  for (const int64_t grain : order) code.run(in.data(), out.data(), scratch, grain, grain + 1);
  if (code.finish != nullptr) code.finish(in.data(), out.data(), scratch, 0, 1);
  return memory;
}

}  // namespace

void SetTarget(const std::string& target) { target_of_tests = target; }

std::vector<std::string> RunnableTargets() {
  std::vector<std::string> targets = {"x86-64"};
  if (__builtin_cpu_supports("x86-64-v3")) targets.emplace_back("x86-64-v3");
  if (__builtin_cpu_supports("x86-64-v4")) targets.emplace_back("skylake-avx512");
  return targets;
}

std::string Fused(const std::string& parameters, const std::string& body, const std::string& result,
                  const std::string& before) {
  std::string entry, call, inner;
  int n = 0;
  for (size_t at = 0; at < parameters.size(); ++n) {
    const size_t end = std::min(parameters.find(' ', at), parameters.size());
    const std::string shape = parameters.substr(at, end - at);
    inner += fmt::format("  p{0} = {1} parameter({0})\n", n, shape);
    entry += fmt::format("  a{0} = {1} parameter({0})\n", n, shape);
    call += fmt::format("{}a{}", n == 0 ? "" : ", ", n);
    at = end + 1;
  }
  return fmt::format(
      "HloModule m\n{}f {{\n{}{}\n}}\nENTRY e {{\n{}  ROOT r = {} fusion({}), kind=kLoop, "
      "calls=f\n}}\n",
      before, inner, body, entry, result, call);
}

Literal RandomLiteral(const Shape& shape, uint64_t seed) {
  const ElementType type = shape.element_type();
  const auto count = static_cast<size_t>(shape.ElementCount().value());
  const auto size = static_cast<size_t>(hlo::StorageBytes(type));
  if (hlo::IsComplex(type)) {
    const Shape parts = Shape::Array(hlo::RealPart(type), {2 * static_cast<int64_t>(count)});
    const Literal numbers = RandomLiteral(parts, seed);
    return Literal::Dense(shape, {numbers.bytes().begin(), numbers.bytes().end()});
  }
  std::vector<std::byte> bytes(count * size);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 2);
  const double special[] = {0.0,
                            -0.0,
                            1,
                            -1,
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN(),
                            1e-40,
                            -3e-42,
                            6e4,
                            3e38,
                            0.5,
                            2.5,
                            1e-30,
                            255,
                            -128.5};
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = random();
    if (hlo::IsFloat(type)) {
      const double value =
          bits % 8 == 0 ? special[(bits >> 8) % std::size(special)] : normal(random);
      if (type == ElementType::kF64) {
        bits = std::bit_cast<uint64_t>(value);
      } else if (type == ElementType::kF32) {
        bits = std::bit_cast<uint32_t>(static_cast<float>(value));
      } else {
        bits = hlo::EncodeFloat(*hlo::FindFloatFormat(type), value);
      }
    } else if (type == ElementType::kPred) {
      bits &= 1;
    } else if (bits % 4 == 0) {
      bits = (bits >> 8) % 9 - 4;  // small ones: shifts, divisors
    } else if (bits % 16 == 1) {
      bits = uint64_t{1} << (hlo::BitWidth(type) - 1);
    }
    if (hlo::IsInteger(type) && hlo::BitWidth(type) < 8) {  // as a literal has them
      const int spare = 64 - hlo::BitWidth(type);
      bits = hlo::IsSigned(type)
                 ? static_cast<uint64_t>(static_cast<int64_t>(bits << spare) >> spare)
                 : bits << spare >> spare;
    }
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return Literal::Dense(shape, std::move(bytes));
}

namespace {

// Operands, each for one result that takes as many bytes, in whose memory those may be made.
std::vector<int> Overwritten(const hlo::Module& module, hlo::InstructionId root) {
  std::vector<int> out;
  std::vector<bool> may_be = compile::OverwritableOperands(module, root);
  for (const auto& leaf : module.shape(root).Leaves()) {
    int& operand = out.emplace_back(-1);
    for (size_t k = 0; k < may_be.size() && operand < 0; ++k) {
      const hlo::Shape& shape = module.shape(module.operands(root)[k]);
      if (may_be[k] && shape.ByteSize() == leaf.second->ByteSize()) operand = static_cast<int>(k);
    }
    if (operand >= 0) may_be[static_cast<size_t>(operand)] = false;
  }
  return out;
}

void ExpectWithEffort(const std::shared_ptr<const hlo::Module>& module, compile::Effort effort,
                      bool overwrites, const std::vector<Literal>& arguments,
                      const runtime::Value& want, const Bound& bound, const std::string& text) {
  const hlo::InstructionId root = module->entry().root;
  const hlo::InstructionId kernels[] = {root};
  compile::CodegenOptions options;
  options.threads = 1;
  options.target = target_of_tests;
  options.effort = effort;
  options.verify = true;
  options.overwrites_all = overwrites;
  const auto library = GenerateKernels(module, kernels, options);
  ASSERT_TRUE(library.has_value()) << library.error().ToString() << text;
  const compile::KernelCode* code = (*library)->Find(root);
  ASSERT_NE(code, nullptr) << "no code\n" << text;
  const Guard guard = effort == compile::Effort::kLeast ? Guard::kBefore : Guard::kBehind;
  const auto leaves = module->shape(root).Leaves();
  const std::vector<int> overwritten =
      overwrites ? Overwritten(*module, root) : std::vector<int>(leaves.size(), -1);
  const Memory memory = Called(*module, root, *code, arguments, 7, guard, overwritten);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto bytes = memory.results[i].bytes();
    const Literal got = Literal::Dense(*leaves[i].second, {bytes.begin(), bytes.end()});
    const runtime::Value& value = module->shape(root).IsTuple() ? want.elements()[i] : want;
    ExpectEqual(got, value.literal(), bound, text);
  }
}

}  // namespace

void ExpectAsEvaluated(const std::string& text, const std::vector<Literal>& arguments,
                       Bound bound) {
  const auto module = hlo::Parsed(text);
  ASSERT_NE(module, nullptr) << text;
  const auto want = eval::Evaluate(*module, arguments);
  ASSERT_TRUE(want.has_value()) << want.error().ToString() << text;
  const bool may_overwrite = std::ranges::any_of(Overwritten(*module, module->entry().root),
                                                 [](int operand) { return operand >= 0; });
  for (const auto effort : {compile::Effort::kLeast, compile::Effort::kUsual}) {
    ExpectWithEffort(module, effort, false, arguments, want->result, bound, text);
    if (may_overwrite) {
      ExpectWithEffort(module, effort, true, arguments, want->result, bound, text);
    }
  }
}

void ExpectAsEvaluated(const std::string& text, uint64_t seed, Bound bound) {
  const auto module = hlo::Parsed(text);
  ASSERT_NE(module, nullptr) << text;
  std::vector<Literal> arguments;
  for (const hlo::InstructionId parameter : module->Parameters(module->entry_id())) {
    arguments.push_back(RandomLiteral(module->shape(parameter), seed++));
  }
  ExpectAsEvaluated(text, arguments, bound);
}

}  // namespace hloscope::codegen
