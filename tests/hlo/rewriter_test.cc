// Tests of the rewriter: edits, dead code, order, provenance, cycles and long chains.
#include "core/hlo/rewrite/rewriter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/rewrite/separate_calls.h"

namespace hloscope::hlo {
namespace {

using enum AttributeKey;

const Shape kF32 = Shape::Array(ElementType::kF32, {4});

// Builds modules of f32[4] instructions and finds them by name.
class Maker {
 public:
  ComputationId Declare(std::string_view name) {
    return builder_.DeclareComputation(builder_.Intern(name));
  }
  void Begin(ComputationId id) { builder_.BeginComputation(id); }
  InstructionId Add(std::string_view name, Opcode opcode, std::vector<InstructionId> operands = {},
                    std::vector<Attribute> attributes = {}) {
    return builder_.AddInstruction(builder_.Intern(name), opcode, builder_.InternShape(kF32),
                                   operands, attributes, 7);
  }
  InstructionId Parameter(std::string_view name, int64_t number) {
    return Add(name, Opcode::kParameter, {}, {builder_.MakeInt(kParameterNumber, number)});
  }
  void End(InstructionId root) { builder_.EndComputation(root); }
  std::shared_ptr<const Module> Build(ComputationId entry) {
    builder_.SetEntry(entry);
    return builder_.Build();
  }
  ModuleBuilder& builder() { return builder_; }

 private:
  ModuleBuilder builder_;
};

// "name=opcode(operands)" of every instruction of the entry computation, in order.
std::string Dump(const Module& m, const Computation& c) {
  std::string text;
  for (uint32_t k = 0; k < c.instruction_count; ++k) {
    InstructionId id(c.first_instruction + k);
    text += std::string(m.name(id)) + "=" + std::string(ToString(m[id].opcode)) + "(";
    for (InstructionId operand : m.operands(id)) text += std::string(m.name(operand)) + " ";
    text += c.root == id ? ")*\n" : ")\n";
  }
  return text;
}

// p0, p1, a = add(p0, p1), n = negate(a), root m = multiply(n, a); dead = abs(p0).
std::shared_ptr<const Module> Small() {
  Maker make;
  ComputationId entry = make.Declare("e");
  make.Begin(entry);
  InstructionId p0 = make.Parameter("p0", 0), p1 = make.Parameter("p1", 1);
  InstructionId a = make.Add("a", Opcode::kAdd, {p0, p1});
  InstructionId n = make.Add("n", Opcode::kNegate, {a});
  make.Add("dead", Opcode::kAbs, {p0});
  make.End(make.Add("m", Opcode::kMultiply, {n, a}));
  return make.Build(entry);
}

TEST(RewriterTest, NothingChangedIsTheSameModule) {
  auto module = Small();
  Rewriter rewriter(module);
  auto result = rewriter.Finish();
  ASSERT_TRUE(result.has_value()) << result.error().ToString();
  EXPECT_EQ(Dump(*result->module, result->module->entry()), Dump(*module, module->entry()));
  for (uint32_t i = 0; i < result->new_id.size(); ++i) {
    EXPECT_EQ(result->new_id[i].index, i);
    EXPECT_EQ(result->module->source_offset(InstructionId(i)), 7u);
  }
}

TEST(RewriterTest, AddReplaceAndRemove) {
  auto module = Small();
  Rewriter rewriter(module);
  InstructionId p0(0u), a(2u), n(3u), dead(4u), root(5u);
  InstructionId doubled =
      rewriter.Add(module->entry_id(), "doubled", Opcode::kAdd, kF32, std::vector{a, a});
  rewriter.ReplaceAllUses(a, doubled);  // but not its own
  EXPECT_EQ(rewriter.users(a), (std::vector{doubled, doubled}));
  EXPECT_EQ(rewriter.users(doubled), (std::vector{n, root}));
  rewriter.SetOperand(root, 0, p0);
  EXPECT_TRUE(rewriter.users(n).empty());
  rewriter.Remove(n);
  rewriter.Remove(dead);
  auto result = rewriter.Finish();
  ASSERT_TRUE(result.has_value()) << result.error().ToString();
  const Module& m = *result->module;
  EXPECT_EQ(Dump(m, m.entry()),
            "p0=parameter()\np1=parameter()\na=add(p0 p1 )\ndoubled=add(a a )\n"
            "m=multiply(p0 doubled )*\n");
  EXPECT_FALSE(result->new_id[n.index].valid());
  EXPECT_FALSE(result->new_id[dead.index].valid());
  EXPECT_EQ(m.name(result->new_id[root.index]), "m");
  EXPECT_EQ(m.name(result->new_id[doubled.index]), "doubled");
  EXPECT_EQ(m[result->new_id[a.index]].shape, (*module)[a].shape);
}

TEST(RewriterTest, RootFollowsReplacement) {
  auto module = Small();
  Rewriter rewriter(module);
  rewriter.ReplaceAllUses(InstructionId(5u), InstructionId(3u));
  rewriter.RemoveDeadCode();
  auto result = rewriter.Finish();
  ASSERT_TRUE(result.has_value()) << result.error().ToString();
  EXPECT_EQ(Dump(*result->module, result->module->entry()),
            "p0=parameter()\np1=parameter()\na=add(p0 p1 )\nn=negate(a )*\n");
}

TEST(RewriterTest, ErrorsNameTheInstructions) {
  auto module = Small();
  struct Case {
    void (*edit)(Rewriter&);
    std::string expected;
  };
  const Case kCases[] = {
      {[](Rewriter& r) { r.SetOperand(InstructionId(2u), 0, InstructionId(3u)); },
       "a depends on itself through n"},
      {[](Rewriter& r) { r.SetOperand(InstructionId(3u), 0, InstructionId(3u)); },
       "n depends on itself through n"},
      {[](Rewriter& r) { r.Remove(InstructionId(3u)); }, "m uses n, which was removed"},
      {[](Rewriter& r) { r.Remove(InstructionId(5u)); }, "computation e has no root"},
  };
  for (const Case& c : kCases) {
    Rewriter rewriter(module);
    c.edit(rewriter);
    auto result = rewriter.Finish();
    ASSERT_FALSE(result.has_value()) << c.expected;
    EXPECT_TRUE(result.error().message.starts_with(c.expected)) << result.error().message;
  }
}

// Two computations called by the entry, one of them only by dead code and one with an effect.
TEST(RewriterTest, DeadCodeDropsComputationsAndKeepsEffects) {
  Maker make;
  ComputationId unused = make.Declare("unused"), effect = make.Declare("effect"),
                entry = make.Declare("e");
  make.Begin(unused);
  make.End(make.Parameter("u", 0));
  make.Begin(effect);
  InstructionId x = make.Parameter("x", 0);
  make.Add("out", Opcode::kOutfeed, {x, x});
  make.End(x);
  make.Begin(entry);
  InstructionId p = make.Parameter("p", 0);
  InstructionId q = make.Parameter("q", 1);
  make.Add("dead_call", Opcode::kCall, {p}, {make.builder().MakeComputation(kToApply, unused)});
  InstructionId before = make.Add("before", Opcode::kAbs, {q});
  make.Add("call", Opcode::kCall, {p}, {make.builder().MakeComputation(kToApply, effect)});
  std::vector<uint32_t> control = {before.index, 4u};
  make.End(make.Add("root", Opcode::kNegate, {p},
                    {make.builder().MakeIds(kControlPredecessors, control)}));
  auto module = make.Build(entry);

  Rewriter rewriter(module);
  rewriter.RemoveDeadCode();
  auto result = rewriter.Finish();
  ASSERT_TRUE(result.has_value()) << result.error().ToString();
  const Module& m = *result->module;
  ASSERT_EQ(m.computations().size(), 2u);
  EXPECT_EQ(Dump(m, m.computations()[0]), "x=parameter()*\nout=outfeed(x x )\n");
  EXPECT_EQ(Dump(m, m.entry()),
            "p=parameter()\nq=parameter()\nbefore=abs(q )\ncall=call(p )\nroot=negate(p )*\n");
  // The call and the control predecessors point at what the new module calls them.
  InstructionId call = result->new_id[module->entry().first_instruction + 4];
  EXPECT_EQ(m[m[m.GetComputation(m[call], kToApply)].name], "effect");
  const Attribute* order = m.Find(m.entry().root, kControlPredecessors);
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(m.name(InstructionId(m.IdsOf(*order)[0])), "before");
}

TEST(RewriterTest, ControlPredecessorsComeFirst) {
  auto module = Small();
  Rewriter rewriter(module);
  InstructionId late =
      rewriter.Add(module->entry_id(), "late", Opcode::kAbs, kF32, std::vector{InstructionId(0u)});
  std::vector<uint32_t> control = {late.index};
  Attribute after = rewriter.builder().MakeIds(kControlPredecessors, control);
  InstructionId user = rewriter.Add(module->entry_id(), "user", Opcode::kAbs, kF32,
                                    std::vector{InstructionId(0u)}, std::vector{after});
  rewriter.SetOperand(InstructionId(2u), 0, user);
  auto result = rewriter.Finish();
  ASSERT_TRUE(result.has_value()) << result.error().ToString();
  EXPECT_EQ(Dump(*result->module, result->module->entry()),
            "p0=parameter()\np1=parameter()\nlate=abs(p0 )\nuser=abs(p0 )\na=add(user p1 )\n"
            "n=negate(a )\ndead=abs(p0 )\nm=multiply(n a )*\n");
}

// `outer` calls `inner` twice, and the entry `outer` twice and `inner` once.
std::shared_ptr<const Module> Shared() {
  Maker make;
  const ComputationId inner = make.Declare("inner"), outer = make.Declare("outer"),
                      entry = make.Declare("e");
  const auto call = [&](std::string_view name, InstructionId operand, ComputationId callee) {
    return make.Add(name, Opcode::kCall, {operand},
                    {make.builder().MakeComputation(kToApply, callee)});
  };
  make.Begin(inner);
  const InstructionId p = make.Parameter("p", 0), first = make.Add("first", Opcode::kNegate, {p});
  const uint32_t before[] = {first.index};
  make.End(make.Add("second", Opcode::kAbs, {p},
                    {make.builder().MakeIds(kControlPredecessors, before)}));
  make.Begin(outer);
  const InstructionId q = make.Parameter("q", 0);
  make.End(call("y", call("x", q, inner), inner));
  make.Begin(entry);
  const InstructionId r = make.Parameter("r", 0);
  make.End(call("c", call("b", call("a", r, outer), outer), inner));
  return make.Build(entry);
}

TEST(SeparateCallsTest, EachCallHasItsOwn) {
  const auto shared = Shared();
  const SeparatedModule separated = SeparateCalls(shared);
  const Module& m = *separated.module;
  EXPECT_TRUE(separated.is_whole);
  ASSERT_EQ(m.computations().size(), 8u);  // outer twice, inner five times, the entry
  ASSERT_EQ(separated.original.size(), 8u);
  EXPECT_EQ(separated.was_shared, (std::vector<bool>{true, true, false}));
  for (uint32_t c = 0; c < 8; ++c) {
    const ComputationId id(c);
    if (id == m.entry_id()) continue;
    EXPECT_TRUE(CallGraphOf(m).OnlyCaller(id).valid()) << m[m[id].name];
    EXPECT_TRUE(m[m[id].name].starts_with((*shared)[(*shared)[separated.original[c]].name]));
    if (separated.original[c].index != 0) continue;
    // What comes first is in the same copy.
    const auto first = m.IdsOf(*m.Find(m[m[id].root], kControlPredecessors));
    ASSERT_EQ(first.size(), 1u);
    EXPECT_EQ(m[InstructionId(first[0])].computation, id);
    EXPECT_EQ(m.name(InstructionId(first[0])), "first");
  }
  // Ids stay.
  for (uint32_t i = 0; i < shared->instructions().size(); ++i)
    EXPECT_EQ(m.name(InstructionId(i)), shared->name(InstructionId(i)));
}

TEST(SeparateCallsTest, NothingSharedIsTheSameModule) {
  const auto module = Small();
  EXPECT_EQ(SeparateCalls(module).module, module);
}

TEST(SeparateCallsTest, CopiesAreBounded) {
  // Each of them calls the next one twice.
  Maker make;
  std::vector<ComputationId> levels;
  for (int level = 0; level < 40; ++level)
    levels.push_back(make.Declare("l" + std::to_string(level)));
  for (size_t level = 0; level < levels.size(); ++level) {
    make.Begin(levels[level]);
    InstructionId value = make.Parameter("p" + std::to_string(level), 0);
    for (const char* const name : {"a", "b"}) {
      std::vector<Attribute> attributes;
      if (level > 0)
        attributes.push_back(make.builder().MakeComputation(kToApply, levels[level - 1]));
      const Opcode opcode = level > 0 ? Opcode::kCall : Opcode::kNegate;
      value = make.Add(name + std::to_string(level), opcode, {value}, attributes);
    }
    make.End(value);
  }
  const SeparatedModule separated = SeparateCalls(make.Build(levels.back()));
  EXPECT_FALSE(separated.is_whole);
  EXPECT_LT(separated.module->instructions().size(), 50'000u);
}

TEST(RewriterTest, LongChainsAndWideFansNeedNoStack) {
  constexpr uint32_t kCount = 100'000;
  Maker make;
  ComputationId entry = make.Declare("e");
  make.Begin(entry);
  InstructionId first = make.Parameter("p", 0), last = first;
  for (uint32_t i = 0; i < kCount; ++i) last = make.Add("i", Opcode::kAdd, {last, first});
  make.End(last);
  auto module = make.Build(entry);
  Rewriter rewriter(module);
  // A new source at the end: the whole chain has to move behind it.
  InstructionId source = rewriter.Add(entry, "source", Opcode::kConstant, kF32, {});
  for (uint32_t i = 0; i < kCount; i += 2) rewriter.SetOperand(InstructionId(1 + i), 1, source);
  rewriter.ReplaceAllUses(first, source);
  rewriter.RemoveDeadCode();
  auto result = rewriter.Finish();
  ASSERT_TRUE(result.has_value()) << result.error().ToString();
  const Module& m = *result->module;
  EXPECT_EQ(m.instructions().size(), kCount + 2);
  EXPECT_EQ(m.name(InstructionId(1u)), "source");
  EXPECT_EQ(m.operands(m.entry().root)[1].index, 1u);
}

}  // namespace
}  // namespace hloscope::hlo
