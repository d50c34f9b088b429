// Random fusions of operations that are exact: whatever is fused with whatever, the values are the
// evaluator's. Shapes have ones and odd sizes; a seed that fails is in the message.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/codegen/kernel_cases.h"

namespace hloscope::codegen {
namespace {

struct Made {
  std::string name, type;
  std::vector<int64_t> sizes;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string Fusion() {
    const int parameters = 1 + Below(3);
    for (int i = 0; i < parameters; ++i) {
      std::vector<int64_t> sizes(static_cast<size_t>(Below(4)));
      for (int64_t& size : sizes) size = Size();
      made_.push_back({fmt::format("p{}", i), Type(), sizes});
      parameters_ += (i == 0 ? "" : " ") + Text(made_.back());
    }
    const int steps = 1 + Below(14);
    for (int i = 0; i < steps; ++i) Step();
    return Finish();
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  int64_t Size() {
    constexpr int64_t kSizes[] = {1, 1, 2, 3, 5, 7, 8, 13, 16, 17, 33, 40};
    return kSizes[Below(std::size(kSizes))];
  }
  std::string Type() {
    constexpr const char* kTypes[] = {"f32",  "f32", "f32", "bf16",     "f16",        "f64",
                                      "s32",  "s8",  "u8",  "u16",      "s64",        "u32",
                                      "pred", "s4",  "u4",  "f8e4m3fn", "f8e5m2fnuz", "f4e2m1fn"};
    return kTypes[Below(std::size(kTypes))];
  }
  static std::string Text(const std::string& type, const std::vector<int64_t>& sizes) {
    return fmt::format("{}[{}]", type, fmt::join(sizes, ","));
  }
  static std::string Text(const Made& made) { return Text(made.type, made.sizes); }
  static int64_t Count(const std::vector<int64_t>& sizes) {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    return count;
  }
  static bool IsFloat(const std::string& type) { return type[0] == 'f' || type[0] == 'b'; }

  const Made& Any() { return made_[static_cast<size_t>(Below(static_cast<int>(made_.size())))]; }
  // A value of these sizes and type, converted and broadcast from another where there is none.
  std::string Like(const Made& like) {
    for (int tries = 0; tries < 4; ++tries) {
      const Made& other = Any();
      if (other.sizes == like.sizes && other.type == like.type) return other.name;
    }
    Made other = Any();
    if (other.type != like.type) {
      other = Add(like.type, other.sizes, "convert(" + other.name + ")");
    }
    if (other.sizes == like.sizes) return other.name;
    if (Count(other.sizes) != 1 && like.sizes.size() == 1) {
      // One element of it.
      other = Add(like.type, {Count(other.sizes)}, "reshape(" + other.name + ")");
      other = Add(like.type, {1}, "slice(" + other.name + "), slice={[0:1]}");
    }
    std::vector<int64_t> dimensions, sizes;
    if (Count(other.sizes) == 1) {
      other = Add(like.type, {}, "reshape(" + other.name + ")");
    } else {
      for (size_t d = 0; d < like.sizes.size() && sizes.size() < other.sizes.size(); ++d) {
        if (like.sizes[d] == other.sizes[sizes.size()]) {
          sizes.push_back(like.sizes[d]);
          dimensions.push_back(static_cast<int64_t>(d));
        }
      }
      if (sizes != other.sizes) {
        return Add(like.type, like.sizes,
                   fmt::format(
                       "broadcast({}), dimensions={{}}",
                       Add(like.type, {},
                           "constant(" + std::string(like.type == "pred" ? "true" : "3") + ")")
                           .name))
            .name;
      }
    }
    return Add(like.type, like.sizes,
               fmt::format("broadcast({}), dimensions={{{}}}", other.name,
                           fmt::join(dimensions, ",")))
        .name;
  }

  Made Add(const std::string& type, const std::vector<int64_t>& sizes, const std::string& text) {
    const Made made{fmt::format("v{}", next_++), type, sizes};
    body_ += fmt::format("  {} = {} {}\n", made.name, Text(made), text);
    return made;
  }
  void Keep(const std::string& type, const std::vector<int64_t>& sizes, const std::string& text) {
    if (Count(sizes) > 200000) return;
    made_.push_back(Add(type, sizes, text));
  }

  void Step() {
    const Made x = Any();
    switch (Below(14)) {
      case 0:
      case 1:
      case 2: {
        const std::string other = Like(x);
        std::vector<std::string> opcodes = {"add", "multiply", "maximum", "minimum"};
        if (x.type != "pred") opcodes.insert(opcodes.end(), {"subtract", "divide"});
        if (!IsFloat(x.type)) opcodes.insert(opcodes.end(), {"and", "or", "xor"});
        const auto which = static_cast<size_t>(Below(static_cast<int>(opcodes.size())));
        return Keep(x.type, x.sizes, fmt::format("{}({}, {})", opcodes[which], x.name, other));
      }
      case 3:
        if (x.type == "pred") return Keep("pred", x.sizes, "not(" + x.name + ")");
        return Keep(x.type, x.sizes, (Below(2) == 0 ? "negate(" : "abs(") + x.name + ")");
      case 4:
        return Keep(Type(), x.sizes, "convert(" + x.name + ")");
      case 5: {
        const std::string other = Like(x);
        const Made which =
            Add("pred", x.sizes, fmt::format("compare({}, {}), direction=LT", x.name, other));
        return Keep(x.type, x.sizes, fmt::format("select({}, {}, {})", which.name, other, x.name));
      }
      case 6: {
        std::vector<int64_t> order(x.sizes.size()), sizes;
        for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
        std::shuffle(order.begin(), order.end(), random_);
        for (const int64_t d : order) sizes.push_back(x.sizes[static_cast<size_t>(d)]);
        return Keep(x.type, sizes,
                    fmt::format("transpose({}), dimensions={{{}}}", x.name, fmt::join(order, ",")));
      }
      case 7: {
        std::vector<int64_t> sizes;
        int64_t left = Count(x.sizes);
        while (left > 1 && sizes.size() < 3) {
          int64_t size = 1 + Below(static_cast<int>(std::min<int64_t>(left, 40)));
          while (left % size != 0) --size;
          sizes.push_back(size);
          left /= size;
        }
        sizes.push_back(left);
        return Keep(x.type, sizes, "reshape(" + x.name + ")");
      }
      case 8: {
        std::vector<int64_t> sizes;
        std::string slices;
        for (const int64_t size : x.sizes) {
          const int64_t begin = Below(static_cast<int>(size)), step = 1 + Below(3);
          const int64_t end = begin + 1 + Below(static_cast<int>(size - begin));
          sizes.push_back((end - begin + step - 1) / step);
          slices += fmt::format("{}[{}:{}:{}]", slices.empty() ? "" : ",", begin, end, step);
        }
        return Keep(x.type, sizes, fmt::format("slice({}), slice={{{}}}", x.name, slices));
      }
      case 9: {
        if (x.sizes.empty()) return;
        std::vector<int64_t> sizes;
        std::string padding;
        for (const int64_t size : x.sizes) {
          const int64_t low = Below(6) - 2, high = Below(6) - 2, inner = Below(4) == 0 ? 1 : 0;
          const int64_t made = low + high + size + (size - 1) * inner;
          if (made <= 0) return;
          sizes.push_back(made);
          padding += fmt::format("{}{}_{}_{}", padding.empty() ? "" : "x", low, high, inner);
        }
        const Made value = Add(x.type, {}, x.type == "pred" ? "constant(true)" : "constant(2)");
        return Keep(x.type, sizes,
                    fmt::format("pad({}, {}), padding={}", x.name, value.name, padding));
      }
      case 10: {
        if (x.sizes.empty()) return;
        const auto d = static_cast<size_t>(Below(static_cast<int>(x.sizes.size())));
        std::vector<int64_t> sizes = x.sizes;
        sizes[d] *= 2;
        return Keep(x.type, sizes,
                    fmt::format("concatenate({}, {}), dimensions={{{}}}", x.name, Like(x), d));
      }
      case 11: {
        if (x.sizes.empty()) return;
        return Keep(x.type, x.sizes,
                    fmt::format("reverse({}), dimensions={{{}}}", x.name,
                                Below(static_cast<int>(x.sizes.size()))));
      }
      case 12: {
        if (x.sizes.empty()) return;
        const int d = Below(static_cast<int>(x.sizes.size()));
        const Made iota = Add("s32", x.sizes, fmt::format("iota(), iota_dimension={}", d));
        return Keep(x.type, x.sizes, "convert(" + iota.name + ")");
      }
      default: {
        if (x.sizes.empty()) return;
        // Rows picked by numbers that may lie outside.
        std::vector<int64_t> sizes = x.sizes, slice = x.sizes, offsets;
        const int64_t count = Size();
        sizes[0] = count;
        slice[0] = 1;
        for (size_t d = 1; d < sizes.size(); ++d) offsets.push_back(static_cast<int64_t>(d));
        const Made iota = Add("s32", {count}, "iota(), iota_dimension=0");
        const Made twice = Add("s32", {count}, fmt::format("multiply({0}, {0})", iota.name));
        return Keep(
            x.type, sizes,
            fmt::format("gather({}, {}), offset_dims={{{}}}, collapsed_slice_dims={{0}}, "
                        "start_index_map={{0}}, index_vector_dim=1, slice_sizes={{{}}}",
                        x.name, twice.name, fmt::join(offsets, ","), fmt::join(slice, ",")));
      }
    }
  }

  std::string Finish() {
    const Made last = made_.back();
    const int how = Below(4);
    if (how == 0 && !last.sizes.empty()) {
      std::vector<int64_t> dimensions, kept;
      for (size_t d = 0; d < last.sizes.size(); ++d) {
        if (Below(2) == 0) {
          dimensions.push_back(static_cast<int64_t>(d));
        } else {
          kept.push_back(last.sizes[d]);
        }
      }
      const std::string type = last.type;
      const Made init = Add(type, {}, type == "pred" ? "constant(true)" : "constant(1)");
      const bool is_float = IsFloat(type);
      const std::string opcode = is_float || Below(2) == 0 ? "maximum" : "add";
      return Fused(
          parameters_,
          body_ + fmt::format("  ROOT r = {} reduce({}, {}), dimensions={{{}}}, to_apply=c",
                              Text(type, kept), last.name, init.name, fmt::join(dimensions, ",")),
          Text(type, kept),
          fmt::format("c {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n  ROOT r = {0}[] "
                      "{1}(a, b)\n}}\n",
                      type, opcode));
    }
    if (how == 1) {
      const std::string other =
          Add("pred", last.sizes, fmt::format("compare({0}, {0}), direction=EQ", last.name)).name;
      const std::string result = fmt::format("({}, {})", Text(last), Text("pred", last.sizes));
      return Fused(parameters_,
                   body_ + fmt::format("  s = {0} copy({1})\n  ROOT r = {2} tuple(s, {3})",
                                       Text(last), last.name, result, other),
                   result);
    }
    return Fused(parameters_, body_ + fmt::format("  ROOT r = {} copy({})", Text(last), last.name),
                 Text(last));
  }

  std::mt19937_64 random_;
  std::vector<Made> made_;
  std::string parameters_, body_;
  int next_ = 0;
};

}  // namespace

std::string RandomFusion(uint64_t seed) { return Generator(seed).Fusion(); }

namespace {

TEST(RandomKernels, AreAsEvaluated) {
  const char* count = std::getenv("RANDOM_KERNELS");
  const uint64_t kernels = count == nullptr ? 600 : std::strtoull(count, nullptr, 10);
  const char* first = std::getenv("RANDOM_KERNELS_FIRST");
  const uint64_t begin = first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
  for (uint64_t seed = begin; seed < begin + kernels && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ExpectAsEvaluated(RandomFusion(seed), seed);
  }
}

}  // namespace
}  // namespace hloscope::codegen
