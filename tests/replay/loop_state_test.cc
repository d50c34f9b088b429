// Random loops over several arrays, in which elementwise updates are made in place or must not be:
// compiled for a CPU and evaluated, bit by bit.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "core/hlo/float_types.h"
#include "tests/replay/checked_runs.h"

namespace hloscope::replay {
namespace {

using fmt::format;

constexpr const char* kTypes[] = {"s32", "f32", "s8", "f64", "u16", "bf16"};

// A module whose entry is such a loop. Arrays have one shape, and every value of a body has too,
// so that anything can be what the next iteration gets.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {
    constexpr int64_t kSmall[] = {1, 2, 3, 5, 8, 16, 17, 20, 33}, kLarge[] = {130, 256, 301};
    const bool is_large = Below(4) == 0;
    rows_ = is_large ? kLarge[Below(3)] : kSmall[Below(9)];
    columns_ = Below(3) == 0 ? rows_ : is_large ? kLarge[Below(3)] : kSmall[Below(9)];
    for (uint64_t k = 0, count = 1 + Below(4); k < count; ++k) {
      types_.push_back(kTypes[Below(3) == 0 ? 0 : Below(std::size(kTypes))]);
    }
  }

  std::string Module() {
    const std::string body = Loop(types_, 2 + static_cast<int>(Below(4)), 6);
    std::string parameters, initial;
    for (size_t k = 0; k < types_.size(); ++k) {
      parameters += format("  p{0} = {1} parameter({0})\n", k, Shape(types_[k]));
      // An argument may be the start of several arrays, and be made before or not.
      if (Below(2) == 0) parameters += format("  m{0} = {1} negate(p{0})\n", k, Shape(types_[k]));
      const bool is_made = parameters.find(format("  m{} =", k)) != std::string::npos;
      initial += format(", {}{}", is_made ? 'm' : 'p', k);
    }
    std::string entry = format("ENTRY e {{\n{}  zero = s32[] constant(0)\n  i = {} tuple(zero{})\n",
                               parameters, State(types_), initial);
    entry +=
        format("  ROOT w = {} while(i), condition={}_go, body={}\n}}\n", State(types_), body, body);
    return "HloModule m\n" + computations_ + entry;
  }

 private:
  struct Made {
    std::string name, type;
  };
  using Types = std::vector<std::string>;

  uint64_t Below(uint64_t n) { return random_() % n; }
  std::string Shape(const std::string& type) const {
    return format("{}[{},{}]", type, rows_, columns_);
  }
  std::string State(const Types& types) const {
    std::string out = "(s32[]";
    for (const std::string& type : types) out += ", " + Shape(type);
    return out + ")";
  }
  const Made& Any(const std::vector<Made>& made) { return made[Below(made.size())]; }
  // One of that type; made, where there is none, of any.
  Made OfType(std::vector<Made>& made, const std::string& type, std::string& text) {
    std::vector<Made> fit;
    for (const Made& each : made) {
      if (each.type == type) fit.push_back(each);
    }
    if (!fit.empty()) return fit[Below(fit.size())];
    // Integers are made of integers, and everything of s32, which holds them.
    const Made x = Any(made);
    const bool was_float = x.type == "f32" || x.type == "f64" || x.type == "bf16";
    const bool is_float = type == "f32" || type == "f64" || type == "bf16";
    const std::string name = Name();
    if (was_float && !is_float) {
      text += format("  {} = {} broadcast(n{}), dimensions={{}}\n", name, Shape("s32"), suffix_);
      if (type == "s32") return made.emplace_back(name, type);
      const std::string other = Name();
      text += format("  {} = {} convert({})\n", other, Shape(type), name);
      return made.emplace_back(other, type);
    }
    text += format("  {} = {} convert({})\n", name, Shape(type), x.name);
    return made.emplace_back(name, type);
  }
  std::string Name() { return format("v{}", next_++); }

  // The name of a body, whose condition ends in _go.
  std::string Loop(const Types& types, int turns, int steps) {
    const std::string name = format("b{}", next_++), state = State(types);
    const std::string suffix = suffix_;
    suffix_ = "_" + name;
    std::string text = format(
        "  s{0} = {1} parameter(0)\n  n{0} = s32[] get-tuple-element(s{0}), "
        "index=0\n  one{0} = s32[] constant(1)\n  next{0} = s32[] add(n{0}, "
        "one{0})\n",
        suffix_, state);
    std::vector<Made> made;
    for (size_t k = 0; k < types.size(); ++k) {
      made.emplace_back(Name(), types[k]);
      text += format("  {} = {} get-tuple-element(s{}), index={}\n", made.back().name,
                     Shape(types[k]), suffix_, k + 1);
    }
    for (int k = 0, count = 1 + static_cast<int>(Below(static_cast<uint64_t>(steps))); k < count;
         ++k) {
      Step(text, made, steps);
    }
    std::string next;
    for (size_t k = 0; k < types.size(); ++k) {
      // One of the last two, which may be one instruction's: as the results are, or swapped.
      const Made last = made[made.size() - 1 - std::min<size_t>(Below(2), made.size() - 1)];
      const bool is_last = Below(3) != 0 && last.type == types[k];
      next += ", " + (is_last ? last : OfType(made, types[k], text)).name;
    }
    computations_ += format("{0} {{\n{1}  ROOT r{2} = {3} tuple(next{2}{4})\n}}\n", name, text,
                            suffix_, state, next);
    computations_ += format(
        "{0}_go {{\n  s{1}c = {2} parameter(0)\n  n{1}c = s32[] get-tuple-element(s{1}c), "
        "index=0\n  end{1} = s32[] constant({3})\n  ROOT go{1} = pred[] compare(n{1}c, end{1}), "
        "direction=LT\n}}\n",
        name, suffix_, state, turns);
    suffix_ = suffix;
    return name;
  }

  void Step(std::string& text, std::vector<Made>& made, int steps) {
    const Made x = Any(made), y = OfType(made, x.type, text);
    const std::string shape = Shape(x.type), name = Name();
    const auto add = [&](const std::string& rest) {
      text += format("  {} = {} {}\n", name, shape, rest);
      made.emplace_back(name, x.type);
    };
    const auto first = [&](const std::string& of_shape, const std::string& rest) {
      const std::string made_first = Name();
      text += format("  {} = {} {}\n", made_first, of_shape, rest);
      return made_first;
    };
    switch (Below(steps > 3 ? 17 : 14)) {
      case 0:
      case 1:
        return add(format("add({}, {})", x.name, y.name));
      case 2:
        return add(format("subtract({}, {})", x.name, y.name));
      case 3:
        return add(format("multiply({}, {})", x.name, y.name));
      case 4:
        return add(format("maximum({}, {})", x.name, y.name));
      case 5:
        return add(format("negate({})", x.name));
      case 6:
        return add(format("reverse({}), dimensions={{{}}}", x.name, Below(2)));
      case 7:
        if (rows_ != columns_) return add(format("minimum({}, {})", x.name, y.name));
        return add(format("transpose({}), dimensions={{1,0}}", x.name));
      case 8: {  // moved by a row or a column
        const bool is_row = Below(2) == 0;
        const std::string zero = first(x.type + "[]", "constant(0)");
        return add(
            format("pad({}, {}), padding={}", x.name, zero, is_row ? "1_-1x0_0" : "0_0x1_-1"));
      }
      case 9: {  // of a row, or of one element for each row
        const bool is_row = Below(2) == 0;
        const std::string part =
            first(format("{}[{},{}]", x.type, is_row ? 1 : rows_, is_row ? columns_ : 1),
                  format("slice({}), slice={{[{}:{}], [{}:{}]}}", x.name, is_row ? rows_ - 1 : 0,
                         rows_, is_row ? 0 : columns_ - 1, columns_));
        const std::string line =
            first(format("{}[{}]", x.type, is_row ? columns_ : rows_), format("reshape({})", part));
        const std::string all =
            first(shape, format("broadcast({}), dimensions={{{}}}", line, is_row ? 1 : 0));
        return add(format("add({}, {})", all, y.name));
      }
      case 10: {
        const std::string is_less =
            first(Shape("pred"), format("compare({}, {}), direction=LT", x.name, y.name));
        return add(format("select({}, {}, {})", is_less, y.name, x.name));
      }
      case 11: {
        const std::string line =
            first(format("{}[{}]", x.type, rows_ * columns_), format("reshape({})", x.name));
        const std::string turned = Below(2) == 0
                                       ? line
                                       : first(format("{}[{}]", x.type, rows_ * columns_),
                                               format("reverse({}), dimensions={{0}}", line));
        return add(format("reshape({})", turned));
      }
      case 12: {
        const std::string row =
            first(format("{}[1,{}]", x.type, columns_),
                  format("dynamic-slice({0}, n{1}, one{1}), dynamic_slice_sizes={{1,{2}}}", y.name,
                         suffix_, columns_));
        return add(format("dynamic-update-slice({0}, {1}, one{2}, n{2})", x.name, row, suffix_));
      }
      case 13:
        return Scatter(text, made, x, y);
      case 14:
      case 15:
        return Branch(text, made, x, y, name);
      default:
        return Inner(text, made, x, y);
    }
  }

  // Updates a row of both, each by a row of what is rarely one of them.
  void Scatter(std::string& text, std::vector<Made>& made, const Made& x, const Made& y) {
    const std::string name = Name(), shape = Shape(x.type),
                      row = format("{}[1,{}]", x.type, columns_);
    const Made z = OfType(made, x.type, text);
    computations_ += format(
        "u_{0} {{\n  a_{0} = {1}[] parameter(0)\n  b_{0} = {1}[] parameter(1)\n  c_{0} = {1}[] "
        "parameter(2)\n  d_{0} = {1}[] parameter(3)\n  s_{0} = {1}[] add(a_{0}, c_{0})\n  t_{0} = "
        "{1}[] maximum(b_{0}, d_{0})\n  ROOT r_{0} = ({1}[], {1}[]) tuple(s_{0}, t_{0})\n}}\n",
        name, x.type);
    text += format("  at_{0} = s32[1,1] reshape(n{1})\n", name, suffix_);
    if (Below(2) == 0) {
      text += format("  row_{0} = {1} slice({2}), slice={{[0:1], [0:{3}]}}\n", name, row, z.name,
                     columns_);
    } else {
      text += format(
          "  five_{0} = {1}[] constant(5)\n  row_{0} = {2} broadcast(five_{0}), dimensions={{}}\n",
          name, x.type, row);
    }
    text += format(
        "  {0} = ({1}, {1}) scatter({2}, {3}, at_{0}, row_{0}, row_{0}), update_window_dims={{1}}, "
        "inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, "
        "to_apply=u_{0}\n",
        name, shape, x.name, y.name);
    for (int k = 0; k < 2; ++k) {
      made.emplace_back(Name(), x.type);
      text +=
          format("  {} = {} get-tuple-element({}), index={}\n", made.back().name, shape, name, k);
    }
  }

  void Branch(std::string& text, std::vector<Made>& made, const Made& x, const Made& y,
              const std::string& name) {
    const std::string shape = Shape(x.type), pair = format("({0}, {0})", shape);
    constexpr const char* kYields[] = {
        "x", "y", "add(x, y)", "negate(x)", "subtract(y, x)", "reverse(x), dimensions={1}"};
    for (int k = 0; k < 2; ++k) {
      const std::string yields = kYields[Below(std::size(kYields))];
      const std::string own = format("_{}_{}", name, k);
      std::string inner = format(
          "  a{0} = {1} parameter(0)\n  x{0} = {2} get-tuple-element(a{0}), "
          "index=0\n  y{0} = {2} get-tuple-element(a{0}), index=1\n",
          own, pair, shape);
      std::string named;
      for (const char c : yields) {
        named += c;
        if (c == 'x' || c == 'y') named += own;
      }
      if (yields.size() == 1) named = format("copy({})", named);
      inner += format("  ROOT r{} = {} {}\n", own, shape, named);
      computations_ += format("t{} {{\n{}}}\n", own, inner);
    }
    text += format(
        "  both_{0} = {1} tuple({2}, {3})\n  two_{0} = s32[] constant(2)\n  odd_{0} = s32[] "
        "remainder(n{4}, two_{0})\n  zero_{0} = s32[] constant(0)\n  is_{0} = pred[] "
        "compare(odd_{0}, zero_{0}), direction=EQ\n  {0} = {5} conditional(is_{0}, both_{0}, "
        "both_{0}), true_computation=t_{0}_0, false_computation=t_{0}_1\n",
        name, pair, x.name, y.name, suffix_, shape);
    made.emplace_back(name, x.type);
  }

  // A loop over two of them, which both are what it makes of them afterwards.
  void Inner(std::string& text, std::vector<Made>& made, const Made& x, const Made& y) {
    const Types types = {x.type, y.type};
    const std::string body = Loop(types, 1 + static_cast<int>(Below(3)), 3);
    const std::string name = Name(), state = State(types);
    text += format(
        "  zero_{0} = s32[] constant(0)\n  i_{0} = {1} tuple(zero_{0}, {2}, {3})\n"
        "  w_{0} = {1} while(i_{0}), condition={4}_go, body={4}\n",
        name, state, x.name, y.name, body);
    for (int k = 1; k <= 2; ++k) {
      made.emplace_back(Name(), x.type);
      text += format("  {} = {} get-tuple-element(w_{}), index={}\n", made.back().name,
                     Shape(x.type), name, k);
    }
  }

  std::mt19937_64 random_;
  int64_t rows_ = 1, columns_ = 1;
  Types types_;
  std::string computations_, suffix_;
  int next_ = 0;
};

double NumberAt(const hlo::Literal& literal, size_t i) {
  const hlo::ElementType type = literal.shape().element_type();
  const auto size = static_cast<size_t>(hlo::StorageBytes(type));
  uint64_t bits = 0;
  std::memcpy(&bits, literal.bytes().data() + i * size, size);
  if (type == hlo::ElementType::kF64) return std::bit_cast<double>(bits);
  if (type == hlo::ElementType::kF32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  const hlo::FloatFormat* format = hlo::FindFloatFormat(type);
  return format == nullptr ? static_cast<double>(bits)
                           : hlo::DecodeFloat(*format, static_cast<uint32_t>(bits));
}

// Where two arrays differ, but for the bits of a NaN.
std::string Difference(const hlo::Literal& got, const hlo::Literal& want) {
  const auto size = static_cast<size_t>(hlo::StorageBytes(want.shape().element_type()));
  for (size_t i = 0; i < want.bytes().size() / size; ++i) {
    const double a = NumberAt(got, i), b = NumberAt(want, i);
    const bool are_same =
        (std::isnan(a) && std::isnan(b)) ||
        std::memcmp(got.bytes().data() + i * size, want.bytes().data() + i * size, size) == 0;
    if (!are_same) return format("element {}: {} instead of {}", i, a, b);
  }
  return "";
}

hlo::Literal SmallNumbers(const hlo::Shape& shape, std::mt19937_64& random) {
  const hlo::ElementType type = shape.element_type();
  std::vector<std::byte> bytes;
  for (int64_t k = 0; k < shape.ElementCount().value(); ++k) {
    uint64_t bits = random() % 9;
    const auto number = static_cast<double>(bits);
    if (type == hlo::ElementType::kF64) {
      bits = std::bit_cast<uint64_t>(number);
    } else if (type == hlo::ElementType::kF32) {
      bits = std::bit_cast<uint32_t>(static_cast<float>(number));
    } else if (const hlo::FloatFormat* format = hlo::FindFloatFormat(type); format != nullptr) {
      bits = hlo::EncodeFloat(*format, number);
    }
    const auto* first = reinterpret_cast<const std::byte*>(&bits);
    bytes.insert(bytes.end(), first, first + hlo::StorageBytes(type));
  }
  return hlo::Literal::Dense(shape, std::move(bytes));
}

TEST(LoopState, IsAsEvaluated) {
  const char* count = std::getenv("RANDOM_LOOPS");
  const uint64_t loops = count == nullptr ? 150 : std::strtoull(count, nullptr, 10);
  const char* first = std::getenv("RANDOM_LOOPS_FIRST");
  const uint64_t begin = first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
  for (uint64_t seed = begin; seed < begin + loops && !testing::Test::HasFailure(); ++seed) {
    const std::string text = Generator(seed).Module();
    SCOPED_TRACE(format("seed {}\n{}", seed, text));
    const auto module = hlo::Parsed(text);
    ASSERT_NE(module, nullptr);
    std::mt19937_64 random(seed);
    std::vector<hlo::Literal> inputs;
    for (const hlo::InstructionId parameter : module->Parameters(module->entry_id())) {
      inputs.push_back(SmallNumbers(module->shape(parameter), random));
    }
    const Ran want = RunOn("interpreter", text, inputs), got = RunOn("cpu", text, inputs);
    EXPECT_TRUE(got.fallbacks.empty()) << got.fallbacks[0].reason;
    ASSERT_EQ(got.results.size(), want.results.size());
    for (size_t k = 0; k < want.results.size(); ++k) {
      EXPECT_EQ(Difference(got.results[k], want.results[k]), "") << "result " << k;
    }
  }
}

// Each result of a scatter is made where the operand that it updates is, which the next turn has to
// find in the other's place.
TEST(LoopState, SwapsWhatAScatterUpdates) {
  constexpr const char* kSwapped = R"(HloModule m
update {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  s = f32[] add(a, c)
  t = f32[] multiply(b, d)
  ROOT r = (f32[], f32[]) tuple(s, t)
}
body {
  p = (s32[], f32[64], f32[64], s32[2,1], f32[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  a = f32[64] get-tuple-element(p), index=1
  b = f32[64] get-tuple-element(p), index=2
  x = s32[2,1] get-tuple-element(p), index=3
  u = f32[2] get-tuple-element(p), index=4
  one = s32[] constant(1)
  j = s32[] add(i, one)
  sc = (f32[64], f32[64]) scatter(a, b, x, u, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=update
  first = f32[64] get-tuple-element(sc), index=0
  second = f32[64] get-tuple-element(sc), index=1
  ROOT r = (s32[], f32[64], f32[64], s32[2,1], f32[2]) tuple(j, second, first, x, u)
}
condition {
  p = (s32[], f32[64], f32[64], s32[2,1], f32[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  a = f32[64] parameter(0)
  b = f32[64] parameter(1)
  x = s32[2,1] parameter(2)
  u = f32[2] parameter(3)
  z = s32[] constant(0)
  t = (s32[], f32[64], f32[64], s32[2,1], f32[2]) tuple(z, a, b, x, u)
  ROOT w = (s32[], f32[64], f32[64], s32[2,1], f32[2]) while(t), condition=condition, body=body
})";
  const auto module = hlo::Parsed(kSwapped);
  ASSERT_NE(module, nullptr);
  std::mt19937_64 random(1);
  std::vector<hlo::Literal> inputs;
  for (const hlo::InstructionId parameter : module->Parameters(module->entry_id())) {
    inputs.push_back(SmallNumbers(module->shape(parameter), random));
  }
  const Ran want = RunOn("interpreter", kSwapped, inputs), got = RunOn("cpu", kSwapped, inputs);
  ASSERT_EQ(got.results.size(), want.results.size());
  for (size_t k = 0; k < want.results.size(); ++k) {
    EXPECT_EQ(Difference(got.results[k], want.results[k]), "") << "result " << k;
  }
}

}  // namespace
}  // namespace hloscope::replay
