// One small module per rule of the verifier: the rule it breaks, and whether plain mode refuses it
// too.
#include "core/hlo/verify/verifier.h"

#include <algorithm>
#include <string>

#include "core/hlo/module_builder.h"
#include "core/hlo/text/text.h"
#include "gtest/gtest.h"

namespace hloscope::hlo {
namespace {

enum class Plain { kError, kWarning };

struct Case {
  const char* name;
  const char* rule;
  Plain plain;
  const char* text;
};

// Computations most cases need.
constexpr const char* kHeader = R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }
double { a = f32[4] parameter(0)
  ROOT b = f32[4] add(a, a) }
pair { a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  ROOT c = f32[4] add(a, b) }
)";

const Case kCases[] = {
    {"Shape", "shape-mismatch", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[8] add(p, p) }"},
    {"ShapeRule", "transpose", Plain::kError,
     "ENTRY e { p = f32[4,2] parameter(0)\n ROOT r = f32[2,4] transpose(p), dimensions={1,1} }"},
    {"TupleElement", "get-tuple-element", Plain::kError,
     "ENTRY e { p = (f32[4]) parameter(0)\n ROOT r = f32[4] get-tuple-element(p), index=1 }"},
    {"ImplicitBroadcast", "implicit-broadcast", Plain::kError,
     "ENTRY e { p = f32[1,4] parameter(0)\n q = f32[4,4] parameter(1)\n"
     " ROOT r = f32[4,4] add(p, q) }"},
    {"ComparisonType", "compare-type", Plain::kError,
     "ENTRY e { p = s32[4] parameter(0)\n"
     " ROOT r = pred[4] compare(p, p), direction=LT, type=FLOAT }"},
    {"Constant", "constant", Plain::kError, "ENTRY e { ROOT r = f32[4294967296] constant({...}) }"},
    {"Iota", "iota", Plain::kError, "ENTRY e { ROOT r = f32[4] iota(), iota_dimension=1 }"},
    {"Rng", "rng", Plain::kError,
     "ENTRY e { p = s32[] parameter(0)\n"
     " ROOT r = s32[4] rng(p, p), distribution=rng_normal }"},
    {"Overflow", "size-overflow", Plain::kError,
     "ENTRY e { ROOT r = f32[4294967296,4294967296] parameter(0) }"},
    {"Unbounded", "unbounded-dynamic", Plain::kError, "ENTRY e { ROOT r = f32[?] parameter(0) }"},
    {"Token", "token", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[4] add-dependency(p, p) }"},
    {"CallOperands", "call-operands", Plain::kError,
     "ENTRY e { p = f32[5] parameter(0)\n ROOT r = f32[5] call(p), to_apply=double }"},
    {"CallRoot", "call-root", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[5] call(p), to_apply=double }"},
    {"Composite", "composite", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n"
     " ROOT r = f32[4] call(p), to_apply=double, is_composite=true }"},
    {"WhileBody", "while-body-shape", Plain::kError,
     "ENTRY e { p = f32[5] parameter(0)\n ROOT r = f32[5] while(p), condition=double, body=double "
     "}"},
    {"WhileCondition", "while-condition-shape", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[4] while(p), condition=double, body=double "
     "}"},
    {"ConditionalOperand", "conditional-operands", Plain::kError,
     "ENTRY e { i = s32[] parameter(0)\n p = f32[5] parameter(1)\n"
     " ROOT r = f32[4] conditional(i, p), branch_computations={double} }"},
    {"Comparator", "sort", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[4] sort(p), dimensions={0}, to_apply=add }"},
    {"FusionOperands", "fusion-operands", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n q = f32[5] parameter(1)\n"
     " ROOT r = f32[4] fusion(p, q), kind=kLoop, calls=pair }"},
    {"FusionCaller", "fusion-caller", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n q = f32[4] fusion(p), kind=kLoop, calls=double\n"
     " ROOT r = f32[4] fusion(q), kind=kLoop, calls=double }"},
    {"FusionUnused", "fusion-unused", Plain::kError,
     "body { p = f32[4] parameter(0)\n q = f32[4] negate(p)\n ROOT r = f32[4] abs(p) }\n"
     "ENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[4] fusion(p), kind=kLoop, calls=body }"},
    {"Thread", "execution-thread", Plain::kError,
     "other { p = f32[4] parameter(0)\n ROOT r = f32[4] abs(p) }, execution_thread=\"x\"\n"
     "ENTRY e { c = pred[] parameter(0)\n p = f32[4] parameter(1)\n"
     " ROOT r = f32[4] conditional(c, p, p), true_computation=other, false_computation=other }"},
    {"GroupTwice", "replica-groups", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n"
     " ROOT r = f32[4] all-reduce(p), replica_groups={{0,0}}, to_apply=add }"},
    {"GroupCount", "replica-groups", Plain::kWarning,
     "ENTRY e { p = f32[4] parameter(0)\n"
     " ROOT r = f32[4] all-reduce(p), replica_groups={{0,1}}, to_apply=add }"},
    {"Channel", "channel-id", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n"
     " ROOT r = f32[4] all-reduce(p), channel_id=0, to_apply=add }"},
    {"GatherPieces", "shard-count", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n"
     " ROOT r = f32[12] all-gather(p), dimensions={0}, replica_groups={{0,1}} }"},
    {"PermuteTwice", "source-target-pairs", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n"
     " ROOT r = f32[4] collective-permute(p), source_target_pairs={{0,1},{2,1}} }"},
    {"AllToAllOperands", "all-to-all", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n"
     " ROOT r = (f32[4], f32[4], f32[4]) all-to-all(p, p, p), replica_groups={{0,1}} }"},
    {"AllToAllDevices", "all-to-all", Plain::kWarning,
     "ENTRY e { p = f32[4] parameter(0)\n ROOT r = (f32[4], f32[4]) all-to-all(p, p) }"},
    {"AsyncPair", "async-pair", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n ROOT s = ((f32[4]), f32[4], s32[]) async-start(p),"
     " calls=double }"},
    {"AsyncUnbound", "async-shape", Plain::kError,
     "ENTRY e { s = ((), f32[4], s32[]) async-start(), calls=double\n"
     " ROOT d = f32[4] async-done(s) }"},
    {"AsyncAlias", "alias", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n s = ((f32[4]), f32[4], s32[]) async-start(p),"
     " calls=double, output_to_operand_aliasing={{1}: (7, {})}\n ROOT d = f32[4] async-done(s) }"},
    {"CopyPair", "async-pair", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n c = (f32[4], f32[4], u32[]) copy-start(p)\n"
     " ROOT r = f32[4] get-tuple-element(c), index=0 }"},
    {"HostTransfer", "channel-id", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n t = token[] after-all()\n"
     " s = (f32[4], u32[], token[]) send(p, t), channel_id=1, is_host_transfer=true\n"
     " ROOT d = token[] send-done(s), channel_id=1 }"},
    {"HostTransfersDiffer", "channel-id", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n t = token[] after-all()\n"
     " s = (f32[4], u32[], token[]) send(p, t), channel_id=1, is_host_transfer=true\n"
     " d = token[] send-done(s), channel_id=1, is_host_transfer=true\n"
     " r = (f32[4], u32[], token[]) send(p, d), channel_id=1, is_host_transfer=true, "
     "frontend_attributes={a=\"b\"}\n"
     " ROOT e = token[] send-done(r), channel_id=1, is_host_transfer=true }"},
    {"ShardingRank", "sharding", Plain::kError,
     "ENTRY e { ROOT p = f32[4,2] parameter(0), sharding={devices=[1,2,2]0,1,2,3} }"},
    {"ShardingTwice", "sharding", Plain::kError,
     "ENTRY e { ROOT p = f32[4] parameter(0), sharding={devices=[4]0,1,1,2} }"},
    {"ShardingDevices", "sharding-devices", Plain::kWarning,
     "ENTRY e { ROOT p = f32[4] parameter(0), sharding={devices=[4]0,1,2,3} }"},
    {"CustomCallAlias", "alias", Plain::kError,
     "ENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[5] custom-call(p), "
     "custom_call_target=\"x\", output_to_operand_aliasing={{}: (0, {})} }"},
    {"DynamicConvolution", "dynamic-convolution", Plain::kError,
     "ENTRY e { a = f32[1,<=4,1] parameter(0)\n k = f32[1,1,1] parameter(1)\n"
     "ROOT r = f32[1,4,1] custom-call(a, k), padding_type=PADDING_VALID, "
     "custom_call_target=\"DynamicConvolutionForward\" }"},
    {"RngSeed", "rng-seed", Plain::kError,
     "ENTRY e { ROOT r = f32[] custom-call(), custom_call_target=\"GetRngSeed\" }"},
    {"Buffer", "buffer", Plain::kError, "ENTRY e { ROOT r = b(f32[4]) parameter(0) }"},
    {"MixedPrecision", "mixed-precision", Plain::kWarning,
     "ENTRY e { p = f32[4] parameter(0)\n q = bf16[4] parameter(1)\n ROOT r = f32[4] add(p, q) }"},
    {"KeptLayout", "layout", Plain::kWarning,
     "ENTRY e { p = f32[4,2]{0,1} parameter(0)\n ROOT r = f32[4,2]{1,0} negate(p) }"},
    {"BroadcastOrder", "broadcast-order", Plain::kWarning,
     "ENTRY e { p = f32[4,2] parameter(0)\n ROOT r = f32[2,4] broadcast(p), dimensions={1,0} }"},
    {"CallOnAnotherThread", "execution-thread", Plain::kWarning,
     "other { p = f32[4] parameter(0)\n ROOT r = f32[4] negate(p) }, execution_thread=\"host\"\n"
     "ENTRY e { p = f32[4] parameter(0)\n ROOT r = f32[4] call(p), to_apply=other }"},
    {"AsyncDoneOfNothing", "async-pair", Plain::kError,
     "ENTRY e { p = ((f32[4]), f32[4], s32[]) parameter(0)\n ROOT d = f32[4] async-done(p) }"},
    {"AsyncDoneElsewhere", "async-shape", Plain::kError,
     "end { p = ((f32[4]), f32[4], s32[]) parameter(0)\n ROOT d = f32[5] async-done(p) }\n"
     "ENTRY e { p = f32[4] parameter(0)\n s = ((f32[4]), f32[4], s32[]) async-start(p),"
     " calls=double\n ROOT r = f32[5] call(s), to_apply=end }"},
    {"ReshapeBitcast", "reshape-bitcast", Plain::kWarning,
     "ENTRY e { p = f32[8,3]{1,0} parameter(0)\n ROOT r = f32[4,2,3]{0,1,2} reshape(p) }"},
    {"Bitcast", "bitcast", Plain::kWarning,
     "ENTRY e { p = f32[8] parameter(0)\n ROOT r = f32[4] bitcast(p) }"},
    {"HostMemory", "host-memory-space", Plain::kWarning,
     "ENTRY e { ROOT r = f32[8]{0:S(5)} parameter(0) }"},
    {"ElementSize", "element-size", Plain::kWarning,
     "ENTRY e { ROOT r = f32[8]{0:E(4)} parameter(0) }"},
    {"UnknownAttribute", "unknown-attribute", Plain::kWarning,
     "ENTRY e { ROOT r = f32[8] parameter(0), who_knows=3 }"},
    {"AsyncBody", "async-computation", Plain::kWarning,
     "body { p = f32[4] parameter(0)\n q = f32[4] negate(p)\n ROOT r = f32[4] abs(q) }\n"
     "ENTRY e { p = f32[4] parameter(0)\n s = ((f32[4]), f32[4], s32[]) async-start(p),"
     " calls=body\n ROOT d = f32[4] async-done(s) }"},
    {"Origin", "original-value", Plain::kError,
     "ENTRY e { ROOT r = (f32[4], f32[4]) parameter(0), origin={{\"x\"}} }"},
};

class VerifierRuleTest : public testing::TestWithParam<Case> {};

bool Has(const std::vector<Diagnostic>& found, std::string_view rule, Severity severity) {
  return std::any_of(found.begin(), found.end(),
                     [&](const Diagnostic& d) { return d.rule == rule && d.severity == severity; });
}

std::string Describe(const std::vector<Diagnostic>& found) {
  std::string text;
  for (const Diagnostic& d : found) text += d.rule + ": " + d.message + "\n";
  return text;
}

std::vector<Diagnostic> VerifyText(const std::string& text, bool strict) {
  ParseResult parsed = ParseText(text);
  EXPECT_TRUE(parsed.ok()) << Describe(parsed.diagnostics) << text;
  if (!parsed.ok()) return {};
  return Verify(*parsed.module, {.strict = strict, .limits = {}});
}

TEST_P(VerifierRuleTest, NamesTheRule) {
  const Case& c = GetParam();
  std::string text = std::string(kHeader) + c.text + "\n";
  auto plain = VerifyText(text, false);
  auto strict = VerifyText(text, true);
  Severity expected = c.plain == Plain::kError ? Severity::kError : Severity::kWarning;
  EXPECT_TRUE(Has(plain, c.rule, expected)) << Describe(plain);
  EXPECT_TRUE(Has(strict, c.rule, Severity::kError)) << Describe(strict);
  for (const Diagnostic& d : strict) EXPECT_NE(d.severity, Severity::kWarning) << d.message;
  if (c.plain == Plain::kError) return;
  for (const Diagnostic& d : plain) EXPECT_NE(d.severity, Severity::kError) << d.message;
}

INSTANTIATE_TEST_SUITE_P(Rules, VerifierRuleTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

TEST(VerifierTest, FindsNothingInASoundModule) {
  std::string text = std::string(kHeader) + R"(
condition { p = f32[4] parameter(0)
  ROOT r = pred[] constant(false) }
ENTRY e {
  p = f32[4] parameter(0)
  s = ((f32[4]), f32[4], s32[]) async-start(p), calls=double
  d = f32[4] async-done(s)
  w = f32[4] while(d), condition=condition, body=double
  z = f32[] constant(0)
  q = f32[] reduce(w, z), dimensions={0}, to_apply=add
  t = (f32[4], f32[]) tuple(w, q)
  ROOT r = f32[] get-tuple-element(t), index=1
})";
  EXPECT_EQ(Describe(VerifyText(text, true)), "");
}

// Operand 1 goes to the true branch, whatever the attributes sort like.
TEST(VerifierTest, BranchesOfAPredTakeTheirOwnOperands) {
  std::string text = R"(HloModule m
yes { a = f32[2,3]{0,1} parameter(0)
  ROOT b = f32[] constant(1) }
no { a = f32[2,3]{1,0} parameter(0)
  ROOT b = f32[] constant(2) }
ENTRY e {
  p = pred[] parameter(0)
  x = f32[2,3]{0,1} parameter(1)
  y = f32[2,3]{1,0} parameter(2)
  ROOT r = f32[] conditional(p, x, y), true_computation=yes, false_computation=no
})";
  EXPECT_EQ(Describe(VerifyText(text, true)), "");
}

TEST(VerifierTest, ControlDependenciesAreNotUsers) {
  std::string text = std::string(kHeader) + R"(
ENTRY e {
  p = f32[4] parameter(0)
  s = (f32[4], f32[4], u32[]) copy-start(p)
  t = token[] after-all(p)
  o = () custom-call(s), custom_call_target="control_dep"
  ROOT d = f32[4] copy-done(s)
})";
  EXPECT_EQ(Describe(VerifyText(text, false)), "");
}

TEST(VerifierTest, LateBoundAsyncOperands) {
  std::string text = std::string(kHeader) + R"(
ENTRY e {
  p = f32[4] parameter(0)
  q = f32[4] parameter(1)
  s = ((f32[4]), f32[4], s32[]) async-start(p), calls=pair
  u = ((f32[4], f32[4]), f32[4], s32[]) async-update(s, q)
  ROOT d = f32[4] async-done(u)
})";
  EXPECT_EQ(Describe(VerifyText(text, false)), "");
}

// The state of an asynchronous operation goes through tuples, copies, loops and calls; one
// computation serves two starts.
TEST(VerifierTest, AsyncStatesArePassedOn) {
  std::string text = std::string(kHeader) + R"(
condition {
  s = (((f32[4]), f32[4], s32[]), f32[4]) parameter(0)
  ROOT r = pred[] constant(false)
}
body {
  s = (((f32[4]), f32[4], s32[]), f32[4]) parameter(0)
  a = ((f32[4]), f32[4], s32[]) get-tuple-element(s), index=0
  d = f32[4] async-done(a)
  n = ((f32[4]), f32[4], s32[]) async-start(d), calls=double
  ROOT t = (((f32[4]), f32[4], s32[]), f32[4]) tuple(n, d)
}
ENTRY e {
  p = f32[4] parameter(0)
  a = ((f32[4]), f32[4], s32[]) async-start(p), calls=double
  c = ((f32[4]), f32[4], s32[]) copy(a)
  t = (((f32[4]), f32[4], s32[]), f32[4]) tuple(c, p)
  b = (((f32[4]), f32[4], s32[]), f32[4]) opt-barrier(t)
  w = (((f32[4]), f32[4], s32[]), f32[4]) while(b), condition=condition, body=body
  x = ((f32[4]), f32[4], s32[]) get-tuple-element(w), index=0
  u = ((f32[4]), f32[4], s32[]) async-update(x)
  ROOT d = f32[4] async-done(u)
}
)";
  auto found = VerifyText(text, false);
  EXPECT_TRUE(found.empty()) << Describe(found);
}

TEST(VerifierTest, MessageHasNamesNumbersAndPlace) {
  std::string text =
      "HloModule m\nENTRY e { p = f32[4] parameter(0)\n  ROOT r = f32[8] add(p, p) }\n";
  auto found = VerifyText(text, false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "%r is f32[8], inferred f32[4]");
  EXPECT_EQ(LineIndex(text).PlaceOf(found[0].offset, "x").line, 3u);
}

TEST(VerifierTest, StopsAtTheLimit) {
  std::string text = "HloModule m\nENTRY e {\n p = f32[4] parameter(0)\n";
  for (int i = 0; i < 50; ++i) {
    text += " r" + std::to_string(i) + " = f32[8] add(p, p)\n";
  }
  text += "}\n";
  EXPECT_EQ(VerifyText(text, false).size(), 20u);
}

// A module built by hand: what no text can say.
std::shared_ptr<const Module> Build(auto&& fill) {
  ModuleBuilder builder;
  builder.header().name = builder.Intern("m");
  fill(builder);
  return builder.Build();
}

TEST(VerifierTest, RefusesCallCycles) {
  auto module = Build([](ModuleBuilder& b) {
    ShapeId shape = b.InternShape(Shape::Scalar(ElementType::kF32));
    ComputationId one = b.DeclareComputation(b.Intern("one"));
    ComputationId two = b.DeclareComputation(b.Intern("two"));
    for (auto [self, other] : {std::pair(one, two), std::pair(two, one)}) {
      b.BeginComputation(self);
      Attribute number = b.MakeInt(AttributeKey::kParameterNumber, 0);
      InstructionId p = b.AddInstruction(b.Intern("p"), Opcode::kParameter, shape, {}, {{number}});
      Attribute callee = b.MakeComputation(AttributeKey::kToApply, other);
      InstructionId r = b.AddInstruction(b.Intern("r"), Opcode::kCall, shape, {{p}}, {{callee}});
      b.EndComputation(r);
    }
    b.SetEntry(one);
  });
  EXPECT_TRUE(Has(Verify(*module), "call-cycle", Severity::kError));
}

TEST(VerifierTest, RefusesOperandsAfterTheirUserAndForeignOnes) {
  auto module = Build([](ModuleBuilder& b) {
    ShapeId shape = b.InternShape(Shape::Scalar(ElementType::kF32));
    ComputationId c = b.DeclareComputation(b.Intern("c"));
    b.BeginComputation(c);
    InstructionId self = b.NextInstruction();
    InstructionId next(self.index + 1);
    b.AddInstruction(b.Intern("x"), Opcode::kNegate, shape, {{next}}, {});
    InstructionId r = b.AddInstruction(b.Intern("y"), Opcode::kNegate, shape, {{self}}, {});
    b.EndComputation(r);
    b.SetEntry(c);
  });
  EXPECT_TRUE(Has(Verify(*module), "operand-order", Severity::kError));
}

TEST(VerifierTest, RefusesLayoutsThatAreNotAPermutation) {
  auto module = Build([](ModuleBuilder& b) {
    Shape shape = Shape::Array(ElementType::kF32, {4, 4});
    shape.set_layout({.minor_to_major = {9, 9}, .extras = nullptr});
    ComputationId c = b.DeclareComputation(b.Intern("c"));
    b.BeginComputation(c);
    Attribute number = b.MakeInt(AttributeKey::kParameterNumber, 0);
    InstructionId p =
        b.AddInstruction(b.Intern("p"), Opcode::kParameter, b.InternShape(shape), {}, {{number}});
    b.EndComputation(p);
    b.SetEntry(c);
  });
  EXPECT_TRUE(Has(Verify(*module), "layout", Severity::kError));
}

TEST(VerifierTest, RefusesControlCycles) {
  auto module = Build([](ModuleBuilder& b) {
    ShapeId shape = b.InternShape(Shape::Scalar(ElementType::kF32));
    ComputationId c = b.DeclareComputation(b.Intern("c"));
    b.BeginComputation(c);
    Attribute number = b.MakeInt(AttributeKey::kParameterNumber, 0);
    uint32_t last = b.NextInstruction().index + 1;
    Attribute after = b.MakeIds(AttributeKey::kControlPredecessors, {{last}});
    InstructionId p =
        b.AddInstruction(b.Intern("p"), Opcode::kParameter, shape, {}, {{number, after}});
    InstructionId r = b.AddInstruction(b.Intern("r"), Opcode::kNegate, shape, {{p}}, {});
    b.EndComputation(r);
    b.SetEntry(c);
  });
  EXPECT_TRUE(Has(Verify(*module), "control-cycle", Severity::kError));
}

TEST(VerifierTest, MillionInstructions) {
  auto module = Build([](ModuleBuilder& b) {
    ShapeId shape = b.InternShape(Shape::Array(ElementType::kF32, {8, 128}));
    ComputationId c = b.DeclareComputation(b.Intern("c"));
    b.BeginComputation(c);
    Attribute number = b.MakeInt(AttributeKey::kParameterNumber, 0);
    InstructionId last = b.AddInstruction(b.Intern("p"), Opcode::kParameter, shape, {}, {{number}});
    for (int i = 0; i < 1'000'000; ++i) {
      std::string name = "x" + std::to_string(i);
      last = b.AddInstruction(b.Intern(name), Opcode::kAdd, shape, {{last, last}}, {});
    }
    b.EndComputation(last);
    b.SetEntry(c);
  });
  EXPECT_TRUE(Verify(*module).empty());
}

}  // namespace
}  // namespace hloscope::hlo
