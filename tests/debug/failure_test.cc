// Fingerprints of failures: the same for a fault wherever it stands, another for another fault.
#include "core/debug/run/failure.h"

#include <gtest/gtest.h>

#include "core/hlo/text/text.h"

namespace hloscope::debug {
namespace {

RunReport Compared(hlo::ElementType type, double relative_error) {
  RunReport report;
  RunOutput& output = report.outputs.emplace_back();
  output.compared = true;
  output.comparison.shape = hlo::Shape::Array(type, {4});
  output.comparison.elements = 4;
  output.comparison.mismatched = relative_error > 0 ? 1 : 0;
  output.comparison.max_rel_error = relative_error;
  return report;
}

RunReport Failed(ErrorClass error_class, std::string message) {
  RunReport report;
  report.error = Error{error_class, std::move(message), {}, {}};
  return report;
}

std::string Fingerprint(const RunReport& report, const hlo::Module* module = nullptr) {
  const auto failure = FailureOf(report, module);
  return failure ? failure->fingerprint() : "none";
}

TEST(Failure, NothingIsWrong) {
  EXPECT_EQ(Fingerprint(RunReport()), "none");
  EXPECT_EQ(Fingerprint(Compared(hlo::ElementType::kF32, 0)), "none");
  EXPECT_EQ(Fingerprint(Failed(ErrorClass::kCancelled, "the run was cancelled (x worker, at run)")),
            "none");
}

TEST(Failure, MismatchesByTypeAndSize) {
  EXPECT_EQ(Fingerprint(Compared(hlo::ElementType::kF32, 0.5)), "differs: float gross");
  EXPECT_EQ(Fingerprint(Compared(hlo::ElementType::kBF16, 0.5)), "differs: float gross");
  EXPECT_EQ(Fingerprint(Compared(hlo::ElementType::kF32, 1e-3)), "differs: float slight");
  EXPECT_EQ(Fingerprint(Compared(hlo::ElementType::kS8, 1)), "differs: integer");
  RunReport report = Compared(hlo::ElementType::kF32, 0.5);
  report.outputs[0].comparison.nan.expected = 1;
  EXPECT_EQ(Fingerprint(report), "differs: float nan in the reference");
}

// The text is of the first result that differs, and says that it is not the only one.
TEST(Failure, SeveralResultsThatDifferAreCounted) {
  RunReport report = Compared(hlo::ElementType::kF32, 0.5);
  EXPECT_EQ(FailureOf(report)->text, "result {} differs in 1 of 4 elements");
  report.outputs.push_back(Compared(hlo::ElementType::kF32, 0).outputs[0]);
  report.outputs.push_back(Compared(hlo::ElementType::kS8, 1).outputs[0]);
  EXPECT_EQ(FailureOf(report)->text, "2 of 3 results differ; result {} differs in 1 of 4 elements");
}

// A reduction may not end at a fault of another kind that came in beside the first one.
TEST(Failure, AnotherFailureBesideItIsAnother) {
  const Failure slight = *FailureOf(Compared(hlo::ElementType::kF32, 1e-6));
  const Failure gross = *FailureOf(Compared(hlo::ElementType::kF32, 0.5));
  RunReport report = Compared(hlo::ElementType::kF32, 1e-6);
  report.outputs.push_back(Compared(hlo::ElementType::kF32, 0.5).outputs[0]);
  const Failure both = *FailureOf(report);
  EXPECT_TRUE(IsSameFailure(slight, both));
  EXPECT_FALSE(IsNoOtherFailure(slight, both));
  EXPECT_TRUE(IsNoOtherFailure(gross, both)) << "roundings are everywhere";
  EXPECT_TRUE(IsNoOtherFailure(both, slight));
  EXPECT_FALSE(IsNoOtherFailure(gross, slight));
}

TEST(Failure, FindingsOfChecksByKind) {
  RunReport report = Compared(hlo::ElementType::kF32, 0);
  replay::RunFinding finding;
  finding.kind = "uninitialised";
  finding.what = "read of uninitialised memory";
  finding.instruction = "fusion.1";
  report.checks = {finding, finding};
  report.checks[1].kind = "race";
  EXPECT_EQ(Fingerprint(report), "check: race; uninitialised");
  EXPECT_EQ(FailureOf(report)->text, "uninitialised: read of uninitialised memory in fusion.1");
  report.outputs = Compared(hlo::ElementType::kS8, 1).outputs;
  EXPECT_EQ(Fingerprint(report), "differs: integer");  // values come first
}

TEST(Failure, APartOfItIsTheSameFailure) {
  RunReport both = Compared(hlo::ElementType::kF32, 0.5);
  both.outputs.push_back(Compared(hlo::ElementType::kPred, 1).outputs[0]);
  const Failure failure = *FailureOf(both);
  EXPECT_EQ(failure.fingerprint(), "differs: float gross; pred");
  EXPECT_TRUE(IsSameFailure(failure, *FailureOf(Compared(hlo::ElementType::kPred, 1))));
  EXPECT_FALSE(IsSameFailure(failure, *FailureOf(Compared(hlo::ElementType::kS8, 1))));
  EXPECT_TRUE(IsSameFailure(*FailureOf(Compared(hlo::ElementType::kPred, 1)), failure));
  EXPECT_FALSE(IsSameFailure(failure, *FailureOf(Failed(ErrorClass::kInput, "no"))));
}

TEST(Failure, DeathsByTheirCause) {
  const auto died = [](std::string text) { return Failed(ErrorClass::kCrashed, std::move(text)); };
  const auto late = [](std::string text) {
    return Failed(ErrorClass::kDeadlineExceeded, std::move(text));
  };
  const std::string fault =
      "the xla-cpu worker was killed by signal 11 (SIGSEGV) at compile: F1122 10:00:00.123456 17 "
      "fusion.cc:31] Check failed: a == b (3 vs. 4)";
  EXPECT_EQ(FailureOf(died(fault))->kind, FailureKind::kSignal);
  // Numbers are padded, and what is printed by the way may be there or not.
  std::string padded = fault;
  padded.replace(padded.find(" 17 "), 4, "    1234 ");
  EXPECT_EQ(Fingerprint(died(fault)), Fingerprint(died(padded)));
  const std::string bare = fault.substr(0, fault.find(": F1122"));
  EXPECT_EQ(Fingerprint(died(bare)), Fingerprint(died(bare + ": === Source Location Trace: ===")));
  std::string later = fault;
  later.replace(later.find("123456 17"), 9, "000001 4242");
  later.replace(later.find("3 vs. 4"), 7, "5 vs. 6");
  EXPECT_EQ(Fingerprint(died(fault)), Fingerprint(died(later)));
  later.replace(later.find("a == b"), 6, "a == c");
  EXPECT_NE(Fingerprint(died(fault)), Fingerprint(died(later)));
  EXPECT_EQ(Fingerprint(died("the pjrt:/a/b.so worker was killed by signal 6 (SIGABRT) at run")),
            "signal: worker was killed by signal # (SIGABRT) at run");
  EXPECT_EQ(Fingerprint(late("the deadline passed (xla-cpu worker, at compile)")),
            "deadline: at compile");
  EXPECT_EQ(Fingerprint(late("the deadline of 5 s passed (xla-cpu worker, at compile)")),
            "deadline: at compile");
  EXPECT_EQ(Fingerprint(late("kernel k: its deadline passed in block (0, 0, 0) near line 7")),
            "deadline");
  EXPECT_EQ(Fingerprint(Failed(ErrorClass::kResourceExhausted, "512 bytes more")), "memory");
  EXPECT_EQ(Fingerprint(Failed(ErrorClass::kDeadlock, "deadlock: device 0 waits at 3")),
            "deadlock: deadlock: device # waits at #");
}

TEST(Failure, TheCauseIsNotReadFromTheText) {
  const std::string crash =
      "the cpu worker was killed by signal 6 (SIGABRT) at run: the deadline of the memory limit of "
      "stopped";
  EXPECT_EQ(FailureOf(Failed(ErrorClass::kCrashed, crash))->kind, FailureKind::kSignal);
  EXPECT_EQ(FailureOf(Failed(ErrorClass::kInternal, "memory limit exceeded: x"))->kind,
            FailureKind::kError);
  EXPECT_FALSE(FailureOf(Failed(ErrorClass::kCancelled, "stopped on request")).has_value());
  EXPECT_EQ(FailureOf(Failed(ErrorClass::kCrashed, "stopped"))->kind, FailureKind::kSignal);
}

TEST(Failure, ErrorsWithoutNames) {
  const auto parsed = hlo::ParseText(R"(HloModule jit_step
ENTRY main {
  x = f32[2] parameter(0)
  ROOT loss = f32[2] custom-call(x), custom_call_target="Foo"
})");
  ASSERT_TRUE(parsed.ok());
  const auto text = [](std::string message) {
    return Failed(ErrorClass::kUnsupported, std::move(message));
  };
  EXPECT_EQ(Fingerprint(text("loss: no Foo for f32[2]{0}"), parsed.module.get()),
            Fingerprint(text("main: no Foo for f16[3,4]{1,0}"), parsed.module.get()));
  EXPECT_EQ(Fingerprint(text("%add.12 takes 3 operands")),
            Fingerprint(text("%mul takes 14 operands")));
  EXPECT_NE(Fingerprint(text("no Foo")), Fingerprint(text("no Bar")));
  const std::string open = "a[1 and b{2";
  EXPECT_EQ(Fingerprint(text(open)), "error: a[# and b{#");
}

// What HLO text has no place for, the name inside of custom-call-start, is that of the opcode when
// read again.
TEST(Failure, ErrorsOfAnInstructionNamedAsItsOpcode) {
  const auto module = [](std::string name) {
    return hlo::ParseText("HloModule m\nENTRY main {\n  x = f32[2] parameter(0)\n  ROOT " + name +
                          " = f32[2] custom-call(x), custom_call_target=\"Foo\"\n}");
  };
  const auto given = module("offloaded-custom-call"), read = module("custom-call");
  ASSERT_TRUE(given.ok() && read.ok());
  const auto text = [](std::string name) {
    return Failed(ErrorClass::kUnsupported, name + ": custom-call f32[2] cannot be evaluated");
  };
  EXPECT_EQ(Fingerprint(text("offloaded-custom-call"), given.module.get()),
            Fingerprint(text("custom-call"), read.module.get()));
  EXPECT_NE(Fingerprint(text("custom-call"), given.module.get()),
            Fingerprint(text("custom-call"), read.module.get()));
}

}  // namespace
}  // namespace hloscope::debug
