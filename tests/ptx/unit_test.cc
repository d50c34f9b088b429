// The steps of every generation of vector units have the same bits.
#include <cmath>
#include <random>

#include "core/ptx/machine/observer.h"
#include "core/ptx/machine/step_changer.h"
#include "core/ptx/machine/steps.h"
#include "tests/ptx/corpus.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

class StepsOfUnit : public StepChanger {
 public:
  explicit StepsOfUnit(const VectorUnit& unit) : unit_(unit) {}
  Step Changed(const Instruction& instruction, Step usual) const override {
    const Step own = unit_.step_of(instruction);
    return own != nullptr ? own : usual;
  }

 private:
  const VectorUnit& unit_;
};

// Numbers of all kinds: around one, of any exponent, subnormal, infinite, NaN, small integers.
std::vector<uint32_t> Words(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> words(count);
  for (uint32_t& word : words) {
    const auto bits = static_cast<uint32_t>(random());
    switch (random() % 6) {
      case 0:
        word = bits;
        break;
      case 1:
        word = bits & 0x807fffff;
        break;
      case 2:
        word = (bits & 0x80000000) | 0x7f800000 | ((bits & 1) != 0 ? bits & 0x7fffff : 0);
        break;
      case 3:
        word = bits % 64;
        break;
      default:
        word = (bits & 0x83ffffff) + 0x3c000000;
        break;
    }
  }
  return words;
}

// What is in the three arguments of a kernel of the tests after it ran on a unit.
std::vector<uint32_t> RunOn(const VectorUnit& unit, const std::string& body) {
  const StepsOfUnit steps(unit);
  LaunchOptions options;
  options.changer = &steps;
  const Ran ran =
      RunKernel(body, Bytes(Words(1024, 1)), Bytes(Words(1024, 2)), 1024 * 16, 128, 2, options);
  EXPECT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  return ran.As<uint32_t>(2);
}

constexpr const char* kInstructions[] = {
    "add.rn.f32 %r4, %r2, %r3;",
    "sub.rz.f32 %r4, %r2, %r3;",
    "mul.rm.f32 %r4, %r2, %r3;",
    "add.rm.f32 %r4, %r2, %r3;",
    "fma.rp.f32 %r4, %r2, %r3, %r2;",
    "fma.rm.f32 %r4, %r2, %r3, %r2;",
    "add.rn.ftz.sat.f32 %r4, %r2, %r3;",
    "max.f32 %r4, %r2, %r3;",
    "min.NaN.f32 %r4, %r2, %r3;",
    "div.full.f32 %r4, %r2, %r3;",
    "div.rz.f32 %r4, %r2, %r3;",
    "rcp.approx.ftz.f32 %r4, %r2;",
    "sqrt.rp.f32 %r4, %r2;",
    "rsqrt.approx.f32 %r4, %r2;",
    "ex2.approx.f32 %r4, %r2;",
    "ex2.approx.ftz.f32 %r4, %r2;",
    "lg2.approx.f32 %r4, %r2;",
    "tanh.approx.f32 %r4, %r2;",
    "add.rn.bf16x2 %r4, %r2, %r3;",
    "fma.rn.f16x2 %r4, %r2, %r3, %r2;",
    "mul.rn.f16x2 %r4, %r2, %r3;",
    "max.NaN.bf16x2 %r4, %r2, %r3;",
    "max.s16x2 %r4, %r2, %r3;",
    "min.u16x2 %r4, %r2, %r3;",
    "add.s16x2 %r4, %r2, %r3;",
    "cvt.rn.bf16x2.f32 %r4, %r2, %r3;",
    "cvt.rn.f16x2.f32 %r4, %r2, %r3;",
    "cvt.rna.tf32.f32 %r4, %r2;",
    "cvt.rni.f32.f32 %r4, %r2;",
    "cvt.rzi.s32.f32 %r4, %r2;",
    "cvt.rmi.u32.f32 %r4, %r2;",
    "cvt.rn.f32.u32 %r4, %r2;",
    "cvt.sat.f32.f32 %r4, %r2;",
    "mul.hi.s32 %r4, %r2, %r3;",
    "div.s32 %r4, %r2, %r3;",
    "rem.u32 %r4, %r2, %r3;",
    "shr.s32 %r4, %r2, %r3;",
    "bfe.u32 %r4, %r2, %r3, 7;",
    "prmt.b32 %r4, %r2, %r3, %r1;",
    "shf.l.wrap.b32 %r4, %r2, %r3, %r1;",
    "popc.b32 %r4, %r2;",
    "setp.ltu.f32 %p1, %r2, %r3;\nselp.b32 %r4, %r2, %r3, %p1;",
    "setp.nan.f32 %p1, %r2, %r3;\nselp.b32 %r4, 1, 0, %p1;",
    "setp.ge.s32 %p1|%p2, %r2, %r3;\nselp.b32 %r4, %r2, %r3, %p2;",
    "shfl.sync.bfly.b32 %r4|%p1, %r2, 5, 31, -1;",
    "shfl.sync.idx.b32 %r4, %r2, %r3, 0x1c1f, -1;",
    "mov.b32 {%rs1, %rs2}, %r2;\nmul.rn.bf16 %rs3, %rs1, %rs2;\ncvt.f32.bf16 %r4, %rs3;",
    "mov.b32 {%rs1, %rs2}, %r2;\nadd.rn.f16 %rs3, %rs1, %rs2;\ncvt.f32.f16 %r4, %rs3;",
    // A part of the lanes, and stores in the same place.
    "setp.lt.u32 %p1, %r1, 77;\nmov.b32 %r4, %r3;\n@%p1 add.rn.f32 %r4, %r2, %r3;",
    "and.b32 %r5, %r1, 3;\nmul.wide.u32 %rd9, %r5, 4;\nadd.s64 %rd9, %rd3, %rd9;\n"
    "st.global.b32 [%rd9], %r1;\nmov.b32 %r4, %r2;",
    "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd1+64];\nst.global.v2.b32 [%rd3+8], {%r7, %r5};",
};

TEST(PtxUnits, EveryOneHasTheSameBits) {
  ASSERT_FALSE(VectorUnits().empty());
  for (const char* const instruction : kInstructions) {
    const std::string body =
        "add.s64 %rd5, %rd1, %rd4;\nld.global.b32 %r2, [%rd5];\nadd.s64 %rd6, %rd2, %rd4;\n"
        "ld.global.b32 %r3, [%rd6];\n" +
        std::string(instruction) +
        "\nmov.u32 %r8, %ctaid.x;\nmul.wide.u32 %rd8, %r8, 512;\nadd.s64 %rd7, %rd3, %rd4;\n"
        "add.s64 %rd7, %rd7, %rd8;\nst.global.b32 [%rd7+1024], %r4;";
    const auto expected = RunOn(VectorUnits()[0], body);
    for (const VectorUnit& unit : VectorUnits().subspan(1))
      EXPECT_EQ(RunOn(unit, body), expected) << unit.name << ": " << instruction;
  }
}

// Powers of two are those of std::exp2, rounded, also where an f32 changes nearby.
TEST(PtxUnits, PowersOfTwoAreRoundedRight) {
  std::vector<uint32_t> operands = Words(4096, 3);
  for (int i = -152; i < 130; ++i) {
    for (const float step : {0.0f, 0.5f, 1e-6f, 0x1p-20f})
      operands.push_back(std::bit_cast<uint32_t>(static_cast<float>(i) + step));
  }
  const auto powers = RunOn32("ex2.approx.f32 %r4, %r2;", operands, operands);
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto power = static_cast<float>(std::exp2(double{std::bit_cast<float>(operands[i])}));
    const uint32_t expected = power != power ? 0x7fffffff : std::bit_cast<uint32_t>(power);
    ASSERT_EQ(powers[i], expected) << std::bit_cast<float>(operands[i]);
  }
}

// Where somebody looks, all registers start at 0, not only those that may be read before they are
// written.
class Looks : public Observer {
 public:
  bool WantsAccesses() const override { return false; }
};

// Entries of the corpus on memory of any bytes: the same memory and the same end on every unit, and
// where somebody looks.
TEST(PtxUnits, KernelsOfTheCorpusHaveTheSameBits) {
  size_t ran = 0;
  for (const std::string& file : CorpusFiles()) {
    const std::string text = ReadAll(file);
    if (text.size() > 20'000) continue;
    const auto module = Module::Parse(text, file);
    ASSERT_TRUE(module.has_value()) << module.error().ToString();
    for (const EntryInfo& entry : module->entries()) {
      if (!entry.unsupported.empty()) continue;
      std::vector<std::vector<std::byte>> first;
      std::string first_end;
      for (size_t variant = 0; variant <= VectorUnits().size(); ++variant) {
        const StepsOfUnit steps(VectorUnits()[variant % VectorUnits().size()]);
        Looks looks;
        LaunchRequest request;
        request.entry = entry.name;
        request.grid = {2, 1, 1};
        request.block = {64, 1, 1};
        for (int i = 0; i < 3; ++i) {
          if (entry.required_threads[i] != 0) request.block[i] = entry.required_threads[i];
        }
        request.dynamic_shared_bytes = 1 << 16;
        std::vector<std::vector<std::byte>> memory;
        for (uint32_t i = 0; i < entry.parameters.size(); ++i) {
          memory.push_back(Bytes(Words(1 << 14, i)));
        }
        for (size_t i = 0; i < memory.size(); ++i) {
          Argument argument{memory[i], {}};
          if (entry.parameters[i].bytes != 8) argument.value.emplace(entry.parameters[i].bytes);
          request.arguments.push_back(std::move(argument));
        }
        LaunchOptions options;
        options.steps = 50'000;
        options.changer = &steps;
        if (variant == VectorUnits().size()) options.observer = &looks;
        const auto result = Launch(*module, request, options);
        const std::string end = !result.has_value()         ? result.error().ToString()
                                : result->fault.has_value() ? result->fault->ToString()
                                                            : "";
        if (first.empty()) {
          first = memory;
          first_end = end;
        }
        EXPECT_TRUE(memory == first) << file << ' ' << entry.name << ' ' << variant;
        EXPECT_EQ(end, first_end);
        ++ran;
      }
    }
  }
  EXPECT_GT(ran, 50u);
}

}  // namespace
}  // namespace hloscope::ptx
