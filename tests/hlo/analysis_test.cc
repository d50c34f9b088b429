// Call graph, effects, liveness and users of a module, and that reading and asking take linear
// work.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/base/work_count.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/analysis/reducer.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/text/text.h"
#include "core/hlo/verify/verifier.h"

namespace hloscope::hlo {
namespace {

std::shared_ptr<const Module> Read(const std::string& text) {
  ParseResult parsed = ParseText(text);
  EXPECT_TRUE(parsed.ok()) << (parsed.diagnostics.empty() ? "" : parsed.diagnostics[0].message);
  return parsed.module;
}

ComputationId Named(const Module& m, std::string_view name) {
  for (uint32_t c = 0; c < m.computations().size(); ++c) {
    if (m[m.computations()[c].name] == name) return ComputationId(c);
  }
  return {};
}

InstructionId Instr(const Module& m, std::string_view name) {
  for (uint32_t i = 0; i < m.instructions().size(); ++i) {
    if (m.name(InstructionId(i)) == name) return InstructionId(i);
  }
  return {};
}

constexpr const char* kCalls = R"(HloModule m
alone {
  ROOT q = f32[] parameter(0)
}
leaf {
  a = f32[] parameter(0)
  t = token[] after-all()
  o = token[] outfeed(a, t), outfeed_shape=f32[]
  ROOT b = f32[] negate(a)
}
pure {
  c = f32[] parameter(0)
  ROOT d = f32[] negate(c)
}
middle {
  e = f32[] parameter(0)
  unused = f32[] negate(e)
  f = f32[] call(e), to_apply=leaf
  ROOT g = f32[] call(e), to_apply=pure
}
ENTRY entry {
  p = pred[] parameter(0)
  x = f32[] parameter(1)
  h = f32[] call(x), to_apply=middle
  ROOT i = f32[] conditional(p, x, x), true_computation=pure, false_computation=leaf
}
)";

TEST(CallGraph, KnowsCallersAndOrders) {
  const auto m = Read(kCalls);
  const CallGraph& graph = CallGraphOf(*m);
  const ComputationId leaf = Named(*m, "leaf"), pure = Named(*m, "pure");
  ASSERT_EQ(graph.callers(leaf).size(), 2u);
  EXPECT_EQ(graph.FirstCaller(leaf), Instr(*m, "f"));
  EXPECT_FALSE(graph.OnlyCaller(leaf).valid());
  EXPECT_EQ(graph.OnlyCaller(Named(*m, "middle")), Instr(*m, "h"));
  EXPECT_FALSE(graph.FirstCaller(m->entry_id()).valid());
  EXPECT_FALSE(graph.IsReached(Named(*m, "alone")));
  EXPECT_TRUE(graph.IsReached(leaf));
  // The true branch comes before the false one, whatever the keys sort like.
  const auto branches = graph.calls(Instr(*m, "i"));
  ASSERT_EQ(branches.size(), 2u);
  EXPECT_EQ(branches[0].callee, pure);
  EXPECT_EQ(branches[1].callee, leaf);
  std::vector<size_t> place(m->computations().size());
  for (size_t k = 0; k < graph.callees_first().size(); ++k) {
    place[graph.callees_first()[k].index] = k;
  }
  for (const Call& call : graph.calls()) {
    EXPECT_LT(place[call.callee.index], place[call.from.index]);
  }
  ASSERT_EQ(graph.callers_first().size(), m->computations().size());
  for (size_t k = 0; k < graph.callers_first().size(); ++k) {
    place[graph.callers_first()[k].index] = k;
  }
  for (const Call& call : graph.calls()) {
    EXPECT_GT(place[call.callee.index], place[call.from.index]);
  }
}

TEST(CallGraph, ParametersAreOperandsOfTheFirstThatGivesThem) {
  const auto m = Read(kCalls);
  const CallGraph& graph = CallGraphOf(*m);
  const auto operand = [&](const char* computation) {
    const InstructionId parameter((*m)[Named(*m, computation)].first_instruction);
    return graph.OperandOfParameter(*m, parameter);
  };
  EXPECT_EQ(operand("middle"), Instr(*m, "x"));  // of a call
  EXPECT_EQ(operand("pure"), Instr(*m, "e"));    // the call comes before the branch
  EXPECT_FALSE(graph.OperandOfParameter(*m, Instr(*m, "x")).valid());
}

TEST(Effects, ReachCallersAndKeepWhatHasThemAlive) {
  const auto m = Read(kCalls);
  const Effects& effects = EffectsOf(*m);
  EXPECT_TRUE(effects.Has(Instr(*m, "o")));
  EXPECT_TRUE(effects.Has(Instr(*m, "f")));
  EXPECT_TRUE(effects.Has(Instr(*m, "h")));
  EXPECT_TRUE(effects.Has(Instr(*m, "i")));
  EXPECT_TRUE(effects.Has(Named(*m, "middle")));
  EXPECT_FALSE(effects.Has(Named(*m, "pure")));
  EXPECT_FALSE(effects.Has(Instr(*m, "g")));
  const ComputationId middle = Named(*m, "middle");
  const std::vector<bool> live = LiveInstructions(*m, middle);
  const uint32_t first = (*m)[middle].first_instruction;
  EXPECT_TRUE(live[Instr(*m, "f").index - first]);
  EXPECT_FALSE(live[Instr(*m, "unused").index - first]);
}

TEST(Users, CountEverySlot) {
  const auto m =
      Read("HloModule m\nENTRY e {\n x = f32[] parameter(0)\n ROOT y = f32[] add(x, x)\n}");
  EXPECT_EQ(UsersOf(*m).users(Instr(*m, "x")).size(), 2u);
  EXPECT_TRUE(UsersOf(*m).users(Instr(*m, "y")).empty());
}

// A text and its proto are one module: both tell dictionaries from strings, and make the same
// names.
TEST(TextAndProto, AgreeOnDictionariesAndNames) {
  const auto m = Read(R"(HloModule m
ENTRY e {
  x = f32[] parameter(0)
  a = f32[] negate(x), backend_config="{\"a\":\"}\"} "
  b = f32[] negate(a), backend_config="{\"a\":1}{"
  ROOT f32_ = f32[] negate(b), backend_config={"c":{}}
})");
  const std::string proto = ModuleToProto(*m);
  const auto read = ReadProto(std::as_bytes(std::span(proto)));
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  std::string text, again;
  PrintText(*m, TextFormat::kHlo, text);
  PrintText(*read->module, TextFormat::kHlo, again);
  EXPECT_EQ(text, again);
  for (const char* name : {"a", "b", "f32_"}) {
    const auto* x = m->Get<BackendConfig>((*m)[Instr(*m, name)], AttributeKey::kBackendConfig);
    const auto* y = read->module->Get<BackendConfig>((*read->module)[Instr(*read->module, name)],
                                                     AttributeKey::kBackendConfig);
    ASSERT_TRUE(x != nullptr && y != nullptr) << name;
    EXPECT_EQ(x->json, y->json) << name;
  }
}

TEST(TextAndProto, NamesOfProtosAreCleanedAsXlaDoes) {
  const auto m =
      Read("HloModule m\nENTRY e {\n aaa = f32[] parameter(0)\n ROOT bb1 = f32[] negate(aaa)\n}");
  std::string proto = ModuleToProto(*m);
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"aaa", "f32"}, {"bb1", "__x"}}) {
    for (size_t at = proto.find(from); at != std::string::npos; at = proto.find(from, at)) {
      proto.replace(at, from.size(), to);
    }
  }
  const auto read = ReadProto(std::as_bytes(std::span(proto)));
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  EXPECT_TRUE(Instr(*read->module, "f32_").valid());
  EXPECT_TRUE(Instr(*read->module, "a_x").valid());
}

// The work of doing `run` on inputs of n and of 2n: twice as much, and a little.
void ExpectLinear(const char* what, const std::function<std::string(int)>& make,
                  const std::function<void(const std::string&)>& run, int n = 2000) {
  const std::string small = make(n), large = make(2 * n);
  run(small);  // tables that are made once
  uint64_t steps[2];
  for (int k = 0; k < 2; ++k) {
    const uint64_t before = WorkCount();
    run(k == 0 ? small : large);
    steps[k] = WorkCount() - before;
  }
  EXPECT_LT(steps[1], steps[0] * 5 / 2 + 5000)
      << what << " took " << steps[0] << " steps, then " << steps[1];
}

std::string Chain(int n) {
  std::string text = "HloModule m\n";
  for (int k = 0; k < n / 8; ++k) {
    text += "c" + std::to_string(k) + " {\n  a" + std::to_string(k) +
            " = f32[4]{0} parameter(0)\n  ROOT b" + std::to_string(k) + " = f32[4]{0} negate(a" +
            std::to_string(k) + "), metadata={op_name=\"x/" + std::to_string(k) + "\"}\n}\n";
  }
  text += "ENTRY e {\n  x0 = f32[4]{0} parameter(0)\n";
  for (int k = 0; k < n; ++k) {
    const std::string at = std::to_string(k), next = std::to_string(k + 1);
    text += k % 8 != 0 ? "  x" + next + " = f32[4]{0} add(x" + at + ", x0)\n"
                       : "  x" + next + " = f32[4]{0} call(x" + at + "), to_apply=c" +
                             std::to_string(k / 8 % std::max(n / 8, 1)) + "\n";
  }
  return text + "  ROOT r = f32[4]{0} negate(x" + std::to_string(n) + ")\n}\n";
}

TEST(LinearWork, OfTextProtoVerifierAndAnalyses) {
  ExpectLinear("parse", Chain, [](const std::string& text) { ParseText(text); });
  const auto of_module = [&](const char* what, const std::function<void(const Module&)>& run) {
    const std::shared_ptr<const Module> modules[] = {Read(Chain(2000)), Read(Chain(4000))};
    run(*Read(Chain(16)));
    uint64_t steps[2];
    for (int k = 0; k < 2; ++k) {
      const uint64_t before = WorkCount();
      run(*modules[k]);
      steps[k] = WorkCount() - before;
    }
    EXPECT_LT(steps[1], steps[0] * 5 / 2 + 5000)
        << what << " took " << steps[0] << " steps, then " << steps[1];
  };
  of_module("verify", [](const Module& m) { Verify(m); });
  of_module("print", [](const Module& m) {
    std::string out;
    PrintText(m, TextFormat::kHlo, out);
  });
  of_module("write proto", [](const Module& m) { ModuleToProto(m); });
  of_module("call graph", [](const Module& m) { CallGraph graph(m); });
  of_module("effects", [](const Module& m) { Effects effects(m); });
  of_module("users", [](const Module& m) { UserIndex users(m); });
  of_module("liveness", [](const Module& m) { LiveInstructions(m, m.entry_id()); });
}

TEST(LinearWork, OfOperandsThatAreNotThere) {
  ExpectLinear(
      "undefined operands",
      [](int n) {
        std::string text = "HloModule m\nENTRY e {\n  ROOT r = () tuple(";
        for (int k = 0; k < n; ++k) text += (k == 0 ? "%a" : ", %a") + std::to_string(k);
        return text + ")\n}\n";
      },
      [](const std::string& text) { ParseText(text); });
}

TEST(BinaryReducer, IsOneOperationOnBothParameters) {
  const auto module = Read(R"(HloModule m
swapped { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] subtract(b, a) }
doubled { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, a) }
longer {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  n = f32[] negate(b)
  ROOT s = f32[] add(a, n)
}
ENTRY e {
  x = f32[8] parameter(0)
  zero = f32[] constant(0)
  r = f32[] reduce(x, zero), dimensions={0}, to_apply=swapped
  d = f32[] reduce(x, zero), dimensions={0}, to_apply=doubled
  l = f32[] reduce(x, zero), dimensions={0}, to_apply=longer
  ROOT t = (f32[], f32[], f32[]) tuple(r, d, l)
})");
  EXPECT_EQ(BinaryReducerOf(*module, Instr(*module, "r")), Opcode::kSubtract);
  EXPECT_EQ(BinaryReducerOf(*module, Instr(*module, "d")), std::nullopt);
  EXPECT_EQ(BinaryReducerOf(*module, Instr(*module, "l")), std::nullopt);
  EXPECT_EQ(BinaryReducerOf(*module, Instr(*module, "x")), std::nullopt);
  EXPECT_EQ(BinaryReducer(*module, ComputationId()), std::nullopt);
}

TEST(LinearWork, OfComputationsThatAreNotThere) {
  ExpectLinear(
      "undefined computations",
      [](int n) {
        std::string text = "HloModule m\n";
        for (int k = 0; k < n; ++k) {
          text += "c" + std::to_string(k) + " {\n  ROOT p = f32[] parameter(0)\n}\n";
        }
        text += "ENTRY e {\n  ROOT r = f32[] custom-call(), custom_call_target=\"t\"";
        text += ", called_computations={";
        for (int k = 0; k < n; ++k) text += (k == 0 ? "%a" : ", %a") + std::to_string(k);
        return text + "}\n}\n";
      },
      [](const std::string& text) { ParseText(text); });
}

TEST(LinearWork, OfCommentsThatDoNotEnd) {
  ExpectLinear(
      "/* ",
      [](int n) {
        std::string text = "HloModule m\nENTRY e {\n  ROOT p = f32[] parameter(0), foo={";
        for (int k = 0; k < n; ++k) text += "/* ";
        return text + "\n}\n";
      },
      [](const std::string& text) { ParseText(text); });
}

TEST(LinearWork, OfBracketsInComments) {
  for (const char* piece : {"(f32[]/*(*/) %x, ", "(f32[]/*)*/) %x, ", "f32[]/*[*/ %x, "}) {
    ExpectLinear(
        piece,
        [&](int n) {
          std::string text =
              "HloModule m\nENTRY e {\n  x = (f32[]) parameter(0)\n  ROOT r = () tuple(";
          for (int k = 0; k < n; ++k) text += piece;
          return text + "(f32[]) %x)\n}\n";
        },
        [](const std::string& text) { ParseText(text); });
  }
}

}  // namespace
}  // namespace hloscope::hlo
