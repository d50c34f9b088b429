// Two dumps side by side: the figures of `compare A B`, and what the window does with the second.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/debug/run/platforms_here.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/comparison.h"
#include "viewer/facts/pair_facts.h"

namespace hloscope::viewer {
namespace {

class TwoDumpsTest : public ReadingTest {
 protected:
  // What `compare A B --json` prints.
  nlohmann::json Compared(const std::string& a, const std::string& b, const std::string& options) {
    const std::string out = Scratch("compared.json");
    const std::string line = ProgramPath() + " compare '" + a + "' '" + b + "' --json " + options +
                             " > '" + out + "' 2>&1";
    const int status = std::system(line.c_str());
    EXPECT_TRUE(WIFEXITED(status));
    std::ifstream file(out);
    std::string text, last;  // dumps with profiles have a line for those before
    while (std::getline(file, text)) last = text;
    return nlohmann::json::parse(last);
  }
  const TwoDumps& Dumps() {
    EXPECT_TRUE(DrawUntil(
        [this] { return session().second.dump().ready() && TwoDumpsOf(session()).ready(); }));
    return *TwoDumpsOf(session());
  }
  void ExpectModules(const std::string& a, const std::string& b, const TwoDumps& dumps) {
    const nlohmann::json json = Compared(a, b, "");
    EXPECT_EQ(dumps.counts[static_cast<size_t>(ModuleVerdict::kEqual)], json["equal"]);
    size_t listed = 0;
    std::vector<std::string> only_a, only_b;
    for (const ModulePair& pair : dumps.pairs) {
      if (pair.verdict == ModuleVerdict::kOnlyFirst) only_a.push_back(pair.name);
      if (pair.verdict == ModuleVerdict::kOnlySecond) only_b.push_back(pair.name);
      if (pair.verdict > ModuleVerdict::kElided) continue;
      ASSERT_LT(listed, json["modules"].size());
      const nlohmann::json& module = json["modules"][listed++];
      EXPECT_EQ(pair.what, module["what"]);
      const auto expect = [&](const char* key, const std::array<int64_t, 2>& values) {
        for (size_t d = 0; d < module[key].size(); ++d) {
          const nlohmann::json& value = module[key][d];
          EXPECT_EQ(values[d], value.is_null() ? -1 : value.get<int64_t>()) << key;
        }
      };
      expect("instructions", pair.instructions);
      expect("peak_bytes", pair.memory_bytes);
    }
    EXPECT_EQ(listed, json["modules"].size());
    EXPECT_EQ(nlohmann::json(only_a), json["only_a"]);
    EXPECT_EQ(nlohmann::json(only_b), json["only_b"]);
  }
  void ExpectKernels(const nlohmann::json& json, const PairKernels& kernels) {
    std::array<int64_t, 2> rows = {};
    for (size_t d = 0; d < 2; ++d) {
      const nlohmann::json& all = json[d == 0 ? "all_a" : "all_b"];
      EXPECT_EQ(kernels.all[d].read, all["bytes_read"]);
      EXPECT_EQ(kernels.all[d].written, all["bytes_written"]);
      for (int lane = 0; lane < graph::kLaneCount; ++lane) {
        const std::string key(graph::KeyOf(static_cast<graph::Lane>(lane)));
        EXPECT_EQ(kernels.lanes[d][static_cast<size_t>(lane)], all.value(key, int64_t{0})) << key;
      }
      for (const nlohmann::json& group : json["groups"])
        rows[d] += group[d == 0 ? "a" : "b"]["kernels"].empty() ? 0 : 1;
      int64_t seen = 0;
      for (const KernelPairRow& row : kernels.rows) seen += row.names[d].empty() ? 0 : 1;
      EXPECT_EQ(seen, rows[d]);
    }
    EXPECT_EQ(kernels.rows.size(), json["groups"].size());
  }
  // Modules of one text each, under these names.
  std::string TextDump(const std::string& name,
                       const std::vector<std::pair<std::string, std::string>>& modules) {
    std::filesystem::create_directories(Scratch(name));
    for (size_t k = 0; k < modules.size(); ++k) {
      const auto& [module, body] = modules[k];
      const std::string text = "HloModule " + module + "\n\nENTRY e {\n" + body + "}\n";
      const std::string path = Scratch(name) + "/module_000" + std::to_string(k) + "." + module +
                               ".before_optimizations.txt";
      EXPECT_TRUE(WriteFileAtomically(path, text));
    }
    return Scratch(name);
  }
};

constexpr const char *kAdds = "  x = f32[4] parameter(0)\n  ROOT r = f32[4] add(x, x)\n",
                     *kSubtracts = "  x = f32[4] parameter(0)\n  ROOT r = f32[4] subtract(x, x)\n";

TEST_F(TwoDumpsTest, FiguresAreThoseOfCompare) {
  const std::pair<const char*, const char*> pairs[] = {
      {"attention_block", "attention_block_h100"}, {"attention_block_h100", "attention_block"},
      {"softmax_passes_a100", "attention_block"},  {"conv_net", "conv_net"},
      {"mlp_train_step", "power_iteration"},
  };
  int with_kernels = 0;
  for (const auto& [first, second] : pairs) {
    SCOPED_TRACE(std::string(first) + " " + second);
    const std::string a = Sample(first), b = Sample(second);
    Start({a, b});
    const TwoDumps& dumps = Dumps();
    ExpectModules(a, b, dumps);
    for (const ModulePair& pair : dumps.pairs) {
      if (!pair.has_both() || pair.verdict == ModuleVerdict::kEqual) continue;
      if (pair.name.find(" → ") != pair.name.npos) continue;  // `--module` takes one name
      const nlohmann::json json = Compared(a, b, "--module " + pair.name);
      ASSERT_TRUE(DrawUntil([&] { return !PairKernelsOf(session(), pair).waiting(); }));
      const Pending<PairKernels>& kernels = PairKernelsOf(session(), pair);
      EXPECT_EQ(kernels.ready(), json.contains("all_a"));
      if (!kernels.ready()) continue;
      ExpectKernels(json, *kernels);
      ++with_kernels;
      ASSERT_TRUE(DrawUntil([&] { return !PairMemoryOf(session(), pair).waiting(); }));
      const Pending<PairMemory>& memory = PairMemoryOf(session(), pair);
      if (memory.ready()) {
        EXPECT_EQ(memory->allocated, pair.memory_bytes);
      }
    }
    Stop();
  }
  EXPECT_GE(with_kernels, 2);
}

// The sum of all allocations is called memory, as in `info`: the peak is another figure.
TEST_F(TwoDumpsTest, MemoryIsCalledMemory) {
  Start({Sample("attention_block"), Sample("attention_block_h100")});
  Dumps();
  session().requests.Show("two-dumps");
  Settle();
  ExpectSeen("two-dumps", "instructions, memory ");
  ExpectSeen("two-dumps", "result instructions memory");
}

// One list of all modules; ids are shifted, and one was renamed.
TEST_F(TwoDumpsTest, EveryModuleIsInOneList) {
  const std::string a = TextDump(
      "a",
      {{"jit_gone", "  ROOT r = f32[2] parameter(0)\n"}, {"jit_f", kAdds}, {"jit_same", kAdds}});
  const std::string b = TextDump(
      "b",
      {{"jit_f", kSubtracts}, {"jit_same", kAdds}, {"jit_new", "  ROOT r = s8[] parameter(0)\n"}});
  Start({a, b});
  const TwoDumps& dumps = Dumps();
  EXPECT_EQ(ToSentence(dumps),
            "1 module differs, 1 only in the first, 1 only in the second, 1 equal");
  ExpectModules(a, b, dumps);
  EXPECT_EQ(dumps.pairs[0].name, "jit_f");
  session().requests.Show("two-dumps");
  Settle();
  ExpectSeen("two-dumps", "1 module differs, 1 only in the first");
  ClickOn("two-dumps", "jit_new");
  ExpectSeen("two-dumps", "jit_new is only in the second dump");
  ClickOn("two-dumps", "jit_same");
  EXPECT_EQ(session().navigation.module(), 2);
}

// One module each is the same one, whatever it is called; kernels are by what they do, not by
// names.
TEST_F(TwoDumpsTest, EqualKernelsOfOtherNamesAreTheSame) {
  const auto dump = [&](const std::string& name, const std::string& prefix, const char* opcode) {
    std::string body =
        "f {\n  p = f32[8] parameter(0)\n  @n = f32[8] negate(p)\n"
        "  ROOT @m = f32[8] exponential(@n)\n}\n\ng {\n  q = f32[8] parameter(0)\n"
        "  ROOT @s = f32[8] @opcode(q)\n}\n\nENTRY e {\n"
        "  x = f32[8] parameter(0)\n  @a = f32[8] fusion(x), kind=kLoop, calls=f\n"
        "  @b = f32[8] fusion(@a), kind=kLoop, calls=g\n"
        "  ROOT @c = f32[8] fusion(@b), kind=kLoop, calls=f\n}\n";
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>("@opcode", opcode), {"@", prefix}}) {
      for (size_t at = 0; (at = body.find(from, at)) != std::string::npos; at += to.size())
        body.replace(at, from.size(), to);
    }
    std::filesystem::create_directories(Scratch(name));
    for (const char* stage : {"before_optimizations", "cpu_after_optimizations"}) {
      const std::string path = Scratch(name) + "/module_0001.jit_" + name + "." + stage + ".txt";
      EXPECT_TRUE(WriteFileAtomically(path, "HloModule jit_" + name + "\n\n" + body));
    }
    return Scratch(name);
  };
  const std::string a = dump("a", "v", "sine"), b = dump("b", "w", "sine"),
                    c = dump("c", "w", "cosine");
  for (const auto& [other, changed] : {std::pair(b, 0), std::pair(c, 1)}) {
    Start({a, other});
    const TwoDumps& dumps = Dumps();
    ASSERT_EQ(dumps.pairs.size(), 1u);
    ExpectModules(a, other, dumps);
    ASSERT_TRUE(DrawUntil([&] { return !PairKernelsOf(session(), dumps.pairs[0]).waiting(); }));
    const Pending<PairKernels>& kernels = PairKernelsOf(session(), dumps.pairs[0]);
    ASSERT_TRUE(kernels.ready());
    const auto of = [&](KernelChange change) {
      return kernels->counts[static_cast<size_t>(change)];
    };
    EXPECT_EQ(of(KernelChange::kSame), 3 - changed);
    EXPECT_EQ(of(KernelChange::kChanged) + of(KernelChange::kAdded), changed);
    Stop();
  }
}

TEST_F(TwoDumpsTest, TheFirstDumpStaysAsItIs) {
  const std::string a = Sample("attention_block"), b = Sample("attention_block_h100");
  Start({a});
  app().SelectWhenOpen("jit_attention_block:ynn_fusion");
  Settle();
  const Selection before = session().navigation.selection();
  const uint64_t generation = session().document.generation();
  Press("Ctrl+D");
  Type(b);
  Press("Enter");
  Dumps();
  Settle();
  EXPECT_EQ(session().document.path(), a);
  EXPECT_EQ(session().document.generation(), generation);
  EXPECT_EQ(session().navigation.selection(), before);
  ASSERT_FALSE(session().recent.empty());
  EXPECT_EQ(session().recent.front(), b);
  // A kernel is selected in the first dump.
  ClickOn("two-dumps", "select_reduce_fusion");
  EXPECT_EQ(SelectedName(), "select_reduce_fusion");
  // F5 reads both.
  const uint64_t reading = session().second.reading();
  Press("F5");
  Dumps();
  EXPECT_GT(session().second.reading(), reading);
  session().second.Close();
  Settle();
  ExpectSeen("two-dumps", "no second dump");
  EXPECT_EQ(session().document.path(), a);
}

// The graphs of both, and the edit in words.
TEST_F(TwoDumpsTest, ChangesAndGraphsAreFromTheFirstToTheSecond) {
  const std::string a = TextDump("a", {{"jit_f", kAdds}}),
                    b = TextDump("b", {{"jit_f", kSubtracts}});
  Start({a, b});
  Dumps();
  session().requests.Show("two-dumps");
  Settle();
  ClickOn("two-dumps", "Show changes");
  ExpectSeen("changes", "second dump: jit_f, before_optimizations");
  ExpectSeen("changes", "add(%x, %x)");
  ExpectSeen("changes", "subtract(%x, %x)");
  session().requests.Show("two-dumps");
  Settle();
  ClickOn("two-dumps", "Show graphs");
  ExpectSeen("before-after", "First dump: 2 instructions");
  ExpectSeen("before-after", "Second dump: 2 instructions");
  // What was compared with is gone with the second dump.
  session().second.Close();
  Settle();
  EXPECT_FALSE(ChosenComparison(session()).is_set());
}

TEST_F(TwoDumpsTest, PassesArePairedByNameAndNumber) {
  const std::string a = Sample("softmax_passes_a100");
  std::filesystem::create_directories(Scratch("b"));
  // One stage is left out, and one holds another instruction from there on.
  int left_out = 0;
  for (const auto& file : std::filesystem::directory_iterator(a)) {
    const std::string name = file.path().filename().string();
    if (name.find(".0003.") != std::string::npos && ++left_out > 0) continue;
    std::filesystem::copy(file.path(), Scratch("b/" + name));
  }
  ASSERT_GT(left_out, 0);
  Start({a, Scratch("b")});
  const TwoDumps& dumps = Dumps();
  ASSERT_EQ(dumps.pairs.size(), 1u);
  ASSERT_TRUE(DrawUntil([&] { return PairPassesOf(session(), dumps.pairs[0]).ready(); }));
  const PairPasses& passes = *PairPassesOf(session(), dumps.pairs[0]);
  EXPECT_EQ(passes.first_difference, -1);
  int only_first = 0, equal = 0;
  for (const PassPairRow& row : passes.rows) {
    only_first += row.stages[1] < 0 ? 1 : 0;
    equal += row.verdict == analysis::ProgramVerdict::kEqual ? 1 : 0;
    EXPECT_GE(row.stages[0], 0) << row.name;
  }
  EXPECT_EQ(only_first, 1);
  EXPECT_EQ(equal, static_cast<int>(passes.rows.size()) - 1);
}

TEST_F(TwoDumpsTest, WhatCannotBeReadIsSaid) {
  Start({Sample("attention_block")});
  Press("Ctrl+D");
  Type("/no/such/dump");
  Press("Enter");
  EXPECT_EQ(app().popups().refusal(),
            "there is no /no/such/dump; choose one below or type another path");
  EXPECT_FALSE(session().second.is_open());
  Press("Escape");
  session().requests.Show("two-dumps");
  session().second.Open("/no/such/dump");
  Settle();
  ExpectSeen("two-dumps", "cannot load the second dump: /no/such/dump");
  session().second.Open(Sample("conv_net") + "/conv_net.xplane.pb.gz");
  Settle();
  ExpectSeen("two-dumps", "no dump in this path");
  EXPECT_TRUE(session().document.dump().ready());
}

// What our own compiler makes of the module, beside what XLA made of it.
TEST_F(TwoDumpsTest, TheModuleIsCompiledAgain) {
  Start({Sample("attention_block")}, Scratch("state"));
  Press("Ctrl+Shift+L");
  EXPECT_EQ(app().popups().kind(), Popups::Kind::kRecompile);
  Press("Enter");
  EXPECT_EQ(app().popups().kind(), Popups::Kind::kNone);
  ASSERT_TRUE(DrawUntil([this] { return session().second.dump().ready(); })) << Messages();
  EXPECT_TRUE(session().second.path().starts_with(Scratch("state") + "/compiled/"));
  EXPECT_NE(Messages().find("compiled by cpu: " + session().second.path()), std::string::npos)
      << Messages();
  Settle();
  const TwoDumps& dumps = Dumps();
  ASSERT_EQ(dumps.pairs.size(), 1u);
  EXPECT_TRUE(dumps.pairs[0].has_both());
  ExpectModules(Sample("attention_block"), session().second.path(), dumps);
  EXPECT_EQ(app().dock().screen(), "passes");
  EXPECT_EQ(session().document.path(), Sample("attention_block"));
}

TEST_F(TwoDumpsTest, AnotherXlaCompilesWithAFlag) {
  const std::vector<std::string> here = debug::PlatformsHere();
  if (std::ranges::find(here, "xla-cpu") == here.end()) GTEST_SKIP() << "no plugin of XLA:CPU";
  Start({Sample("attention_block")});
  Press("Ctrl+Shift+L");
  Type("--xla_disable_hlo_passes=fusion,cpu-instruction-fusion");
  Click("//##recompile/xla-cpu");
  Click("//##recompile/Recompile");
  ASSERT_TRUE(DrawUntil([this] {
    return session().second.dump().ready() || Messages().find("not compiled") != std::string::npos;
  }));
  ASSERT_NE(Messages().find("compiled by xla-cpu for this machine: "), std::string::npos)
      << Messages();
  const TwoDumps& dumps = Dumps();
  ASSERT_EQ(dumps.pairs.size(), 1u);
  EXPECT_TRUE(dumps.pairs[0].has_both());
  ExpectModules(Sample("attention_block"), session().second.path(), dumps);
}

// A flag that the compiler does not read is refused, not left out.
TEST_F(TwoDumpsTest, FlagsThatDoNothingAreRefused) {
  for (const auto& [flags, text] : {std::pair("--xla_gpu_autotune_level=0",
                                              "--xla_gpu_autotune_level has no effect on our own"),
                                    std::pair("xla_a=1", "xla_a=1 is not a flag")}) {
    Start({Sample("attention_block")});
    Press("Ctrl+Shift+L");
    Type(flags);
    Press("Enter");
    ASSERT_TRUE(DrawUntil([this] { return !session().messages.all().empty(); }));
    EXPECT_NE(Messages().find(text), std::string::npos) << Messages();
    EXPECT_FALSE(session().second.is_open());
    Stop();
  }
}

TEST_F(TwoDumpsTest, AThirdDumpIsNotOpened) {
  const std::string a = TextDump("a", {{"jit_f", kAdds}}), b = TextDump("b", {{"jit_f", kAdds}});
  Start({a, b, Sample("conv_net")});
  Dumps();
  EXPECT_NE(Messages().find("not opened, only two dumps can be open at a time"), std::string::npos);
  EXPECT_EQ(session().second.path(), b);
}

}  // namespace
}  // namespace hloscope::viewer
