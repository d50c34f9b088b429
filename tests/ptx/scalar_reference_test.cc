// The second implementation beside the machine: they agree on kernels of every kind, and a fault
// planted in one step of the machine is found and named, whatever it is.
#include "core/ptx/reference/scalar_reference.h"

#include <map>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/step_changer.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

ScalarReferenceReport RunBoth(const std::string& body, const StepChanger* changer = nullptr,
                              uint32_t threads = 64) {
  std::vector<std::byte> memory[3];
  const auto module = Module::Parse(KernelText(body), "k.ptx");
  EXPECT_TRUE(module.has_value()) << (module.has_value() ? "" : module.error().ToString());
  if (!module.has_value()) return {};
  LaunchRequest launch;
  launch.entry = "k";
  launch.block = {threads, 1, 1};
  launch.dynamic_shared_bytes = 1024;
  std::vector<float> floats;
  for (int i = 0; i < 256; ++i) floats.push_back(0.37f * static_cast<float>(i - 100) + 0.1f);
  for (auto& bytes : memory) {
    bytes = Bytes(floats);
    launch.arguments.push_back({bytes, {}});
  }
  LaunchOptions options;
  options.changer = changer;
  auto report = RunScalarReference(*module, launch, {}, options);
  EXPECT_TRUE(report.has_value()) << (report.has_value() ? "" : report.error().ToString());
  return report.has_value() ? *std::move(report) : ScalarReferenceReport{};
}

// %r2 and %r3 are the elements of the first two arguments, what it leaves in %r4 is stored.
std::string Elementwise(const std::string& instructions) {
  return "add.s64 %rd5, %rd1, %rd4;\nld.global.b32 %r2, [%rd5];\nadd.s64 %rd6, %rd2, %rd4;\n"
         "ld.global.b32 %r3, [%rd6];\n" +
         instructions + "\nadd.s64 %rd7, %rd3, %rd4;\nst.global.b32 [%rd7], %r4;";
}

struct Case {
  Operation operation;
  std::string body;
};

const std::string kExchange =
    "mov.b32 %r5, sh;\nshl.b32 %r6, %r1, 2;\nadd.s32 %r7, %r5, %r6;\nst.shared.b32 [%r7], %r2;\n"
    "bar.sync 0;\nsub.s32 %r8, 252, %r6;\nadd.s32 %r9, %r5, %r8;\nld.shared.b32 %r4, [%r9];";

// One for each kind of step.
std::vector<Case> Cases() {
  return {
      {Operation::kAdd, Elementwise("add.rn.f32 %r4, %r2, %r3;")},
      {Operation::kSub, Elementwise("sub.rn.f32 %r4, %r2, %r3;")},
      {Operation::kMul, Elementwise("mul.rn.f32 %r4, %r2, %r3;")},
      {Operation::kFma, Elementwise("fma.rn.f32 %r4, %r2, %r3, %r2;")},
      {Operation::kDiv, Elementwise("div.rn.f32 %r4, %r2, %r3;")},
      {Operation::kMax, Elementwise("max.NaN.f32 %r4, %r2, %r3;")},
      {Operation::kMin, Elementwise("min.s32 %r4, %r2, %r3;")},
      {Operation::kMad, Elementwise("mad.lo.s32 %r4, %r2, %r3, %r1;")},
      {Operation::kMulWide, Elementwise("mul.wide.s32 %rd9, %r2, %r3;\ncvt.u32.u64 %r4, %rd9;")},
      {Operation::kSetp, Elementwise("setp.lt.f32 %p1, %r2, %r3;\nselp.b32 %r4, %r2, %r3, %p1;")},
      {Operation::kSelp, Elementwise("setp.lt.f32 %p1, %r2, %r3;\nselp.b32 %r4, %r2, %r1, %p1;")},
      {Operation::kCvt, Elementwise("cvt.rzi.s32.f32 %r4, %r2;")},
      {Operation::kCvtTf32, Elementwise("cvt.rna.tf32.f32 %r4, %r2;")},
      {Operation::kCvtPack, Elementwise("cvt.rn.bf16x2.f32 %r4, %r2, %r3;")},
      {Operation::kEx2, Elementwise("ex2.approx.f32 %r4, %r2;")},
      {Operation::kShl, Elementwise("shl.b32 %r4, %r2, 3;")},
      {Operation::kShr, Elementwise("shr.s32 %r4, %r2, 3;")},
      {Operation::kAnd, Elementwise("and.b32 %r4, %r2, %r3;")},
      {Operation::kPrmt, Elementwise("prmt.b32 %r4, %r2, %r3, 0x5410U;")},
      {Operation::kShf, Elementwise("shf.l.wrap.b32 %r4, %r2, %r3, 7;")},
      {Operation::kShfl, Elementwise("shfl.sync.bfly.b32 %r4, %r2, 3, 31, -1;")},
      {Operation::kRedux, Elementwise("redux.sync.add.s32 %r4, %r2, -1;")},
      {Operation::kLd, Elementwise(kExchange)},
      {Operation::kMmaK8,
       Elementwise("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r4, %r10, %r11, %r12}, "
                   "{%r2, %r3, %r2, %r3}, {%r2, %r3}, {%r2, %r2, %r3, %r3};")},
      {Operation::kMmaK16,
       Elementwise("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r4, %r10, %r11, %r12}, "
                   "{%r2, %r3, %r2, %r3}, {%r2, %r3}, {%r2, %r2, %r3, %r3};")},
      {Operation::kMmaInteger,
       Elementwise("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r4, %r10, %r11, %r12}, "
                   "{%r2, %r3, %r2, %r3}, {%r2, %r3}, {%r2, %r2, %r3, %r3};")},
      {Operation::kLdmatrix,
       Elementwise(kExchange +
                   "and.b32 %r13, %r1, 7;\nshl.b32 %r13, %r13, 4;\nadd.s32 %r14, %r5, %r13;\n"
                   "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r4}, [%r14];")},
  };
}

// Breaks one operation: the last bit of what it writes first is turned over (of an approximation
// the third, which is more than such functions may be off).
class Breaker : public StepChanger {
 public:
  explicit Breaker(Operation operation) : operation_(operation) { usual_.clear(); }
  Step Changed(const Instruction& changed, Step usual) const override {
    if (changed.operation != operation_) return usual;
    usual_[changed.operation] = usual;
    return [](Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) {
      usual_[in.operation](warp, in, slots, mask);
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if ((mask >> lane & 1) == 0) continue;
        if (slots[0].bytes == 0) {
          WriteMask(warp, {slots[0].offset, 0, false, true}, ~ReadMask(warp, slots[0]), 1u << lane);
        } else {
          WriteLane(warp, slots[0], lane,
                    ReadLane(warp, slots[0], lane) ^ (in.approximate ? 4 : 1));
        }
      }
    };
  }

 private:
  Operation operation_;
  static inline std::map<Operation, Step> usual_;
};

TEST(PtxScalarReference, AgreesWithTheMachine) {
  for (const Case& each : Cases()) {
    const ScalarReferenceReport report = RunBoth(each.body);
    EXPECT_TRUE(report.agrees()) << each.body << "\n"
                                 << (report.first ? report.first->what : "")
                                 << (report.missing ? report.missing->ToString() : "");
    EXPECT_GT(report.checked, 500u);
  }
}

TEST(PtxScalarReference, NamesTheStepThatIsBroken) {
  for (const Case& each : Cases()) {
    const Breaker breaker(each.operation);
    const ScalarReferenceReport report = RunBoth(each.body, &breaker);
    ASSERT_TRUE(report.first.has_value() || report.fault.has_value()) << each.body;
    EXPECT_FALSE(report.agrees());
  }
  const Breaker breaker(Operation::kFma);
  const ScalarReferenceReport report = RunBoth(Cases()[3].body, &breaker);
  ASSERT_TRUE(report.first.has_value());
  EXPECT_EQ(report.first->form, "fma.rn.f32");
  EXPECT_EQ(report.first->thread, 0u);
  EXPECT_EQ(
      report.first->what,
      "%r4 is 1324.71 (0x44a596b8) on the machine, 1324.7101 (0x44a596b9) by the scalar reference");
}

TEST(PtxScalarReference, LoopsAndGuardsAreFollowed) {
  const ScalarReferenceReport report = RunBoth(
      "mov.b32 %r2, 0;\nmov.b32 %r3, %r1;\nagain:\nsetp.eq.s32 %p1, %r3, 0;\n@%p1 bra out;\n"
      "add.s32 %r2, %r2, %r3;\nadd.s32 %r3, %r3, -1;\nbra again;\nout:\n"
      "setp.gt.s32 %p2, %r1, 7;\n@!%p2 add.s32 %r2, %r2, 100;\nadd.s64 %rd7, %rd3, %rd4;\n"
      "@%p2 st.global.b32 [%rd7], %r2;");
  EXPECT_TRUE(report.agrees()) << (report.first ? report.first->what : "");
}

TEST(PtxScalarReference, AWrongGuardBranchesDifferently) {
  // The machine's predicate is turned over behind the comparison; the guard goes another way.
  const Breaker breaker(Operation::kSetp);
  const ScalarReferenceReport report = RunBoth(
      Elementwise("mov.b32 %r4, 0;\nsetp.lt.u32 %p1, %r1, 5;\n@%p1 mov.b32 %r4, %r2;"), &breaker);
  ASSERT_TRUE(report.first.has_value());
  EXPECT_EQ(report.first->form, "setp.lt.u32");
}

TEST(PtxScalarReference, UnsupportedFormsAreNamed) {
  const ScalarReferenceReport report = RunBoth(Elementwise("redux.sync.max.f32 %r4, %r2, -1;"));
  ASSERT_TRUE(report.missing.has_value());
  EXPECT_EQ(report.missing->ToString(),
            "k.ptx:21:1: `redux.sync.max.f32` is not covered by the scalar reference");
  EXPECT_FALSE(report.agrees());
}

}  // namespace
}  // namespace hloscope::ptx
