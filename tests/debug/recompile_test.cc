// Programs compiled again: series made with JAX 0.10, TensorFlow 2.21 and PyTorch/XLA 2.9, each
// against what its program changed; logs in the wordings of earlier JAX; damaged logs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "core/base/strings.h"
#include "core/debug/recompile/compile_log.h"
#include "core/debug/recompile/dump_recompilations.h"
#include "core/debug/recompile/module_change.h"
#include "core/dump/run_record.h"
#include "tests/base/paths.h"
#include "tests/hlo/parsed.h"

namespace hloscope::debug {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Series : public testing::TestWithParam<const char*> {
 protected:
  std::string Folder() const { return SourcePath("tests/debug/recompile/") + GetParam(); }
};

// One line of the table for each recompilation, and none for a call that was cached.
TEST_P(Series, EachReasonIsWhatWasChanged) {
  auto model = dump::DumpModel::Open(Folder(), Limits());
  ASSERT_TRUE(model) << model.error().ToString();
  const Recompilations found = RecompilationsIn(**model);
  std::string table;
  for (const Recompilation& one : found.list) {
    auto number = [](const std::string& title) { return title.substr(0, title.find('.')); };
    const RecompileCause& cause = one.cause;
    for (const std::string& cell :
         {one.program, number(one.modules[0]), number(one.modules[1]),
          std::string(KeyOf(cause.reason)), cause.argument, cause.from, cause.to})
      table += cell + '\t';
    table.back() = '\n';
    EXPECT_FALSE(FixOf(one).empty());
    EXPECT_EQ(ToSentence(cause).find("{from}"), std::string::npos);
  }
  EXPECT_EQ(table, Read(Folder() + ".tsv"));
  EXPECT_TRUE(found.warnings.empty()) << found.warnings.front();
}

// 500 logs with bytes changed, lines cut and lines doubled, over the three series: what is no
// longer told is named.
TEST_P(Series, DamagedLogsNameWhatIsLost) {
  const std::string text = Read(Folder() + "/stderr.log");
  const size_t whole = ReadCompileLog(text, "log").compilations.size();
  ASSERT_GT(whole, 0U);
  int silent = 0;
  for (uint32_t seed = 0; seed < 170; ++seed) {
    std::mt19937 random(seed);
    std::string broken = text;
    for (uint32_t k = 0; k <= seed % 7; ++k) {
      const size_t at = random() % broken.size();
      switch (random() % 4) {
        case 0:
          broken[at] = static_cast<char>(random());
          break;
        case 1:
          broken.erase(at, random() % 40);
          break;
        case 2:
          broken.insert(at, broken.substr(random() % broken.size(), random() % 60));
          break;
        default:
          broken[at] = '\n';
      }
    }
    const CompileLog log = ReadCompileLog(broken, "log");
    (void)RecompilationsOf(log);
    if (log.compilations.size() < whole && log.warnings.empty()) ++silent;
  }
  EXPECT_EQ(silent, 0);
}

INSTANTIATE_TEST_SUITE_P(Frameworks, Series,
                         testing::Values("jax", "tensorflow", "torch", "torch_longer"));

// PyTorch/XLA gives all its graphs one name: here seven, each compiled twice.
TEST(Recompilations, CountTheFirstOfEachGraph) {
  auto model = dump::DumpModel::Open(SourcePath("tests/debug/recompile/torch"), Limits());
  ASSERT_TRUE(model) << model.error().ToString();
  const Recompilations of_dump = RecompilationsIn(**model);
  ASSERT_EQ(of_dump.programs.size(), 1U);
  EXPECT_EQ(of_dump.programs[0].compilations, 14);
  const Recompilations of_log = RecompilationsOf(
      ReadCompileLog(Read(SourcePath("tests/debug/recompile/torch/stderr.log")), "log"));
  ASSERT_EQ(of_log.programs.size(), 1U);
  EXPECT_EQ(of_log.programs[0].compilations, 14);
}

// A loop that reads a sum in each step: what was recorded before stays, and is compiled again.
TEST(Recompilations, AGraphThatGrows) {
  auto model = dump::DumpModel::Open(SourcePath("tests/debug/recompile/torch_longer"), Limits());
  ASSERT_TRUE(model) << model.error().ToString();
  const Recompilations found = RecompilationsIn(**model);
  ASSERT_EQ(found.list.size(), 4U);
  EXPECT_EQ(ToSentence(found.list[1].cause),
            "the graph is longer: it has the operations of an earlier one, and sine.17");
  EXPECT_TRUE(FixOf(found.list[1]).starts_with("torch_xla.sync() at the end of each step"));
  ASSERT_EQ(found.programs.size(), 1U);
  EXPECT_EQ(found.programs[0].compilations, 7);  // of ten modules, three are of graphs alone
}

// Logs of two processes: their first compilations are two.
TEST(Recompilations, OfSeveralLogs) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "two_logs";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string log = Read(SourcePath("tests/debug/recompile/torch/stderr.log"));
  for (const char* name : {"a.log", "b.log"}) std::ofstream(folder / name) << log;
  auto model = dump::DumpModel::Open(folder.string(), Limits());
  ASSERT_TRUE(model) << model.error().ToString();
  const Recompilations found = RecompilationsIn(**model);
  ASSERT_EQ(found.programs.size(), 1U);
  EXPECT_EQ(found.programs[0].compilations, 28);  // 14 in each
  fs::remove_all(folder);
}

// What PyTorch/XLA rounds to nothing is left out, and a module is no function.
TEST(CompileLog, GraphsOfASmallProgram) {
  const CompileLog log =
      ReadCompileLog(Read(SourcePath("tests/debug/recompile/torch_longer/stderr.log")), "log");
  ASSERT_EQ(log.graphs.size(), 10U);
  const TorchGraphText second = TextOf(log.graphs, 1);
  EXPECT_TRUE(
      second.reason.contains("the program marks the end of a step; compiled 1 time, run "
                             "3 times in this log; 2 inputs, 1 output"));
  EXPECT_FALSE(second.reason.contains("GB"));
}

Recompilation Only(const char* log) {
  const Recompilations found = RecompilationsOf(ReadCompileLog(log, "log"));
  EXPECT_EQ(found.list.size(), 1U);
  return found.list.empty() ? Recompilation() : found.list.front();
}

// Clusters are numbered over all graphs: that of a function traced anew has another name, and the
// same nodes. Others are programs of their own, whatever their types.
TEST(Recompilations, OfARetracedCluster) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "cluster_traced_anew";
  fs::remove_all(folder);
  fs::create_directories(folder);
  auto write = [&](int number, int rows, const char* scope) {
    const std::string name = "cluster_" + std::to_string(number) + "__XlaCompiledKernel_true_.3";
    const std::string type = "f32[" + std::to_string(rows) + "]";
    std::ofstream file(folder / ("module_000" + std::to_string(number) + "." + name +
                                 ".before_optimizations.txt"));
    file << "HloModule " << name << "\n\nENTRY main {\n  x0 = " << type
         << " parameter(0), metadata={op_name=\"XLA_Args\"}\n";
    for (int k = 0; k < 4; ++k) {
      file << "  " << (k == 3 ? "ROOT " : "") << "x" << k + 1 << " = " << type << " tanh(x" << k
           << "), metadata={op_name=\"" << scope << "/Tanh_" << k << "\"}\n";
    }
    file << "}\n";
  };
  write(0, 64, "dense");
  write(1, 64, "dense_1");
  write(2, 40, "dense");
  // One trace, and its graph asked for without running it.
  for (const char* name : {"module_0003.a_inference_step_9__XlaMustCompile_true_.3",
                           "module_0004.a_inference_step_9__.3"})
    fs::copy_file(
        folder / "module_0000.cluster_0__XlaCompiledKernel_true_.3.before_optimizations.txt",
        folder / (std::string(name) + ".before_optimizations.txt"));
  auto model = dump::DumpModel::Open(folder.string(), Limits());
  ASSERT_TRUE(model) << model.error().ToString();
  const Recompilations found = RecompilationsIn(**model);
  ASSERT_EQ(found.list.size(), 1U);
  EXPECT_EQ(found.list[0].program, "cluster_0");
  EXPECT_NE(found.list[0].modules[1].find("cluster_2"), std::string::npos);
  EXPECT_EQ(found.list[0].cause.to, "f32[40]");
  fs::remove_all(folder);
}

// A name alone is no function: two lambdas, each compiled for two shapes, are two programs.
TEST(Recompilations, OfFunctionsOfOneName) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "two_lambdas";
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (int k = 0; k < 4; ++k) {
    const std::string type = k < 2 ? "f32[4]{0}" : "f32[5]{0}";
    const std::string line = k % 2 == 0 ? "3" : "7";
    std::ofstream(folder /
                  ("module_000" + std::to_string(k) + ".jit__lambda.before_optimizations.txt"))
        << "HloModule jit__lambda\n\nENTRY main {\n  x = " << type
        << " parameter(0)\n  ROOT y = " << type << (k % 2 == 0 ? " tanh" : " sine")
        << "(x), metadata={op_name=\"jit(<lambda>)/y\" source_file=\"f.py\" source_line=" << line
        << "}\n}\n";
  }
  auto model = dump::DumpModel::Open(folder.string(), Limits());
  ASSERT_TRUE(model) << model.error().ToString();
  const Recompilations found = RecompilationsIn(**model);
  ASSERT_EQ(found.list.size(), 2U);
  EXPECT_NE(found.list[0].program, found.list[1].program);
  EXPECT_TRUE(found.list[1].program.ends_with(" at f.py:7")) << found.list[1].program;
  ASSERT_EQ(found.programs.size(), 2U);
  EXPECT_EQ(found.programs[0].compilations, 2);
  EXPECT_EQ(found.programs[1].compilations, 2);
  fs::remove_all(folder);
}

// Two versions of JAX, each with a record of its run: the same module, and one that differs in its
// shape as well. A run without a record, and two of one version, say nothing.
TEST(Recompilations, OfTwoVersions) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "two_versions";
  fs::remove_all(folder);
  auto write = [&](const char* run, const char* version, const char* shape) {
    fs::create_directories(folder / run);
    std::ofstream(folder / run / "module_0001.jit_step.before_optimizations.txt")
        << "HloModule jit_step\n\nENTRY main {\n  ROOT x = " << shape << " parameter(0)\n}\n";
    if (version != nullptr)
      std::ofstream(folder / run / dump::kRecordFile)
          << "{\"framework\":\"JAX\",\"version\":\"" << version << "\"}\n";
  };
  write("a", "0.9.0", "f32[4]{0}");
  write("b", "0.10.2", "f32[4]{0}");
  auto model = dump::DumpModel::Open(folder.string(), Limits());
  ASSERT_TRUE(model) << model.error().ToString();
  const Recompilations found = RecompilationsIn(**model);
  ASSERT_EQ(found.list.size(), 1U);
  EXPECT_EQ(ToSentence(found.list[0].cause),
            "the library version changed from JAX 0.9.0 to JAX 0.10.2");
  EXPECT_FALSE(FixOf(found.list[0]).empty());
  write("b", "0.10.2", "f32[5]{0}");
  EXPECT_EQ(RecompilationsIn(**dump::DumpModel::Open(folder.string(), Limits())).list.size(), 1U);
  write("b", "0.9.0", "f32[4]{0}");
  EXPECT_TRUE(RecompilationsIn(**dump::DumpModel::Open(folder.string(), Limits())).list.empty());
  fs::remove(folder / "b" / dump::kRecordFile);
  EXPECT_TRUE(RecompilationsIn(**dump::DumpModel::Open(folder.string(), Limits())).list.empty());
  fs::remove_all(folder);
}

// A text before and one after optimization differ by what XLA did, not by what was traced.
TEST(Recompilations, StagesOfUnlikeKindAreNotCompared) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "unlike_stages";
  fs::remove_all(folder);
  fs::create_directories(folder);
  auto write = [&](const char* name, const char* shape) {
    std::ofstream(folder / name) << "HloModule jit_step\n\nENTRY main {\n  ROOT x = " << shape
                                 << " parameter(0)\n}\n";
  };
  const auto count = [&] {
    return RecompilationsIn(**dump::DumpModel::Open(folder.string(), Limits())).list.size();
  };
  write("module_0021.jit_step.before_optimizations.txt", "f32[4]{0}");
  write("module_0023.jit_step.after_optimizations.txt", "f32[4]{0}");
  EXPECT_EQ(count(), 0U) << "one compilation";
  write("module_0023.jit_step.after_optimizations.txt", "f32[5]{0}");
  EXPECT_EQ(count(), 0U) << "unlike";
  write("module_0025.jit_step.before_optimizations.txt", "f32[6]{0}");
  EXPECT_EQ(count(), 1U) << "traced twice";
  fs::remove_all(folder);
}

// A folder of the program may have the name of a framework.
TEST(CompileLog, TheLineIsTheProgramsOwn) {
  const std::string log =
      "Compilation Analysis: ====\nCompilation Analysis: Compilation Cause\n"
      "Compilation Analysis:   user torch_xla.sync\nCompilation Analysis: Graph Info: \n"
      "Compilation Analysis:   Graph Hash: 52ea8b\n"
      "Compilation Analysis:   Number of Graph Inputs: 7\n"
      "Compilation Analysis: Python Frame Triggered Execution: \n"
      "Compilation Analysis:   sync (/e/lib/python3.11/site-packages/torch_xla/torch_xla.py:87)\n"
      "Compilation Analysis:   main (/home/me/torch/t2.py:9)\n"
      "Compilation Analysis:   <module> (/home/me/torch/t2.py:12)\n"
      "Compilation Analysis: ----\nCompilation Analysis: ====\n\n";
  const CompileLog found = ReadCompileLog(log, "log");
  ASSERT_EQ(found.compilations.size(), 1U);
  EXPECT_EQ(found.compilations[0].place, "/home/me/torch/t2.py:9");
}

// Of dynamo the log has library frames alone: no place is better than a library's.
TEST(CompileLog, NoPlaceWithoutALineOfTheProgram) {
  const std::string log =
      "Compilation Analysis: ====\nCompilation Analysis: Compilation Cause\n"
      "Compilation Analysis:   dynamo is compiling a FX graph to HLO\n"
      "Compilation Analysis:   Graph Hash: 52ea8b\n"
      "Compilation Analysis: Python Frame Triggered Execution: \n"
      "Compilation Analysis:   extract_graph_helper "
      "(/e/site-packages/torch_xla/_dynamo/dynamo_bridge.py:432)\n"
      "Compilation Analysis:   forward (<eval_with_key>.2:5)\n"
      "Compilation Analysis:   ..........\nCompilation Analysis: ----\n\n";
  const CompileLog found = ReadCompileLog(log, "log");
  ASSERT_EQ(found.compilations.size(), 1U);
  EXPECT_EQ(found.compilations[0].place, "");
}

// A graph of PyTorch/XLA with another number of arrays.
TEST(Recompilations, ArraysThatComeAndGo) {
  auto cause = [](std::string_view parameters, std::string_view result, std::string_view later) {
    auto facts = [](std::string_view types, std::string_view root) {
      std::string text = "HloModule SyncTensorsGraph.9\nENTRY e {\n";
      int k = 0;
      for (std::string_view type : StrSplit(types, ' ')) {
        text += fmt::format("  p{0} = {1} parameter({0})\n", k, type);
        ++k;
      }
      text += fmt::format("  c = {0} constant({{...}})\n  ROOT t = ({0}) tuple(c)\n}}\n", root);
      return FactsOf(hlo::Parsed(text));
    };
    return CauseOf(facts(parameters, result), facts(later, result)).reason;
  };
  EXPECT_EQ(cause("f32[4]", "f32[4]", "f32[4] f32[]"), RecompileReason::kNumbers);
  EXPECT_EQ(cause("f32[4] f32[]", "f32[4]", "f32[4]"), RecompileReason::kNumbers);
  EXPECT_EQ(cause("f32[3]", "f32[4]", "f32[3] f32[4] f32[]"), RecompileReason::kState);
  EXPECT_EQ(cause("f32[3]", "f32[4]", "f32[3] f32[5]"), RecompileReason::kArguments);
  EXPECT_EQ(cause("f32[3] f32[4]", "f32[4]", "f32[3]"), RecompileReason::kArguments);
}

// `print(f(x), g(x))` on one line: graphs of one name from one line that compute other things.
TEST(Recompilations, GraphsOfOneLineAreToldApart) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "graphs_of_one_line";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const auto write = [&](int number, int size, std::initializer_list<const char*> opcodes) {
    const std::string name = fmt::format("SyncTensorsGraph.{}", number + 5);
    std::ofstream file(folder /
                       fmt::format("module_000{}.{}.before_optimizations.txt", number, name));
    file << "HloModule " << name
         << fmt::format("\n\nENTRY e {{\n  v0 = f32[{}] parameter(0)\n", size);
    int k = 0;
    for (const char* opcode : opcodes) {
      file << fmt::format(
          "  v{} = f32[{}] {}(v{}), metadata={{op_type=\"aten__{}\" source_file=\"/me/t.py\" "
          "source_line=8}}\n",
          k + 1, size, opcode, k, opcode);
      ++k;
    }
    file << fmt::format("  ROOT t = (f32[{}]) tuple(v{})\n}}\n", size, k);
  };
  write(0, 4, {"negate", "sine"});
  write(1, 4, {"exponential", "tanh", "cosine"});
  write(2, 5, {"negate", "sine"});
  const auto model = dump::DumpModel::Open(folder.string(), Limits());
  ASSERT_TRUE(model) << model.error().ToString();
  const Recompilations found = RecompilationsIn(**model);
  ASSERT_EQ(found.list.size(), 1U);
  EXPECT_EQ(found.list[0].modules[0].substr(0, 11), "module_0000");
  EXPECT_EQ(found.list[0].modules[1].substr(0, 11), "module_0002");
  EXPECT_EQ(found.list[0].cause.reason, RecompileReason::kShape);
  ASSERT_EQ(found.programs.size(), 1U);
  EXPECT_EQ(found.programs[0].compilations, 2);
}

// What was followed already is no fix; an object without __eq__ is no array.
TEST(Recompilations, FixesFitTheCase) {
  Recompilation one;
  one.framework = "JAX";
  one.cause.reason = RecompileReason::kIdentical;
  EXPECT_TRUE(FixOf(one).contains("JAX_EXPLAIN_CACHE_MISSES=1"));
  one.was_logged = true;
  EXPECT_FALSE(FixOf(one).contains("JAX_EXPLAIN_CACHE_MISSES"));
  one.cause.reason = RecompileReason::kStatic;
  one.cause.to = "3";
  EXPECT_TRUE(FixOf(one).contains("pass it as an array"));
  one.cause.to = "<__main__.Cfg object at 0x7f0011223344>";
  EXPECT_TRUE(FixOf(one).contains("__hash__ and __eq__"));
}

TEST(CompileLog, WordingsOfEarlierJax) {
  const Recompilation old = Only(
      "WARNING:jax:TRACING CACHE MISS at /a/t.py:3 (main) because:\n  never seen function:\n"
      "    step id=7 defined at /a/t.py:1\n"
      "TRACING CACHE MISS at /a/t.py:4 (main) because:\n  for step defined at /a/t.py:1\n"
      "  never seen input type signature:\n    x: f32[9]\n"
      "  closest seen input type signature has 1 mismatches, including:\n"
      "    * at x, seen f32[8], but now given f32[9]\n");
  EXPECT_EQ(ToSentence(old.cause),
            "the shape of argument `x` changed from f32[8] to f32[9], dimension 0 from 8 to 9");
  EXPECT_EQ(old.place, "/a/t.py:4");
  const Recompilation statics = Only(
      "TRACING CACHE MISS at /a/t.py:3 (main) costing 1.000 ms because:\n  never seen function:\n"
      "    step id=7 defined at /a/t.py:1\n"
      "TRACING CACHE MISS at /a/t.py:4 (main) costing 2.000 ms because:\n"
      "  for step defined at /a/t.py:1\n"
      "  all previously seen cache keys are different. Closest previous key:\n"
      "  * key with different value of static kwargs:\n"
      "      now {n: 3} and before {n: 2}\n");
  EXPECT_EQ(KeyOf(statics.cause.reason), "static argument");
  EXPECT_EQ(statics.cause.argument, "n");
}

TEST(CompileLog, ACachedCompilationIsNone) {
  constexpr const char* kTwo =
      "Compiling jit(f) with global shapes and types (ShapedArray(float32[2]),). Argument mapping: "
      "(UnspecifiedValue,).\nFinished XLA compilation of jit(f) in 0.5 sec\n"
      "Compiling jit(f) with global shapes and types (ShapedArray(float32[3]),). Argument mapping: "
      "(UnspecifiedValue,).\n";
  EXPECT_EQ(Only(kTwo).cause.to, "f32[3]");
  const std::string hit =
      std::string(kTwo) + "Persistent compilation cache hit for 'jit_f' with key 'jit_f-1'\n";
  EXPECT_TRUE(RecompilationsOf(ReadCompileLog(hit, "log")).list.empty());
}

TEST(CompileLog, ACachedClusterOfTensorFlowIsNone) {
  const std::string first =
      "device_compilation_profiler.cc:113] Compiled __inference_step_15 1 times, compile time: "
      "11151 us, cumulative: 11151 us (0 us / 11.2 ms)\n";
  const std::string second =
      "device_compilation_profiler.cc:113] Compiled __inference_step_28 1 times, compile time: "
      "8570 us, cumulative: 8570 us (0 us / 8.57 ms)\n";
  const std::string loaded =
      "device_executable_persistor.h:371] Loading cached entry for: "
      "__inference_step_28[_XlaMustCompile=true].\n";
  EXPECT_EQ(RecompilationsOf(ReadCompileLog(first + second, "log")).list.size(), 1U);
  const CompileLog log = ReadCompileLog(first + loaded + second, "log");
  EXPECT_TRUE(log.warnings.empty());
  EXPECT_TRUE(RecompilationsOf(log).list.empty());
}

TEST(CompileLog, NamesOfOneProgram) {
  EXPECT_EQ(ProgramKey("JAX", "jit__lambda"), ProgramKey("JAX", "<lambda>"));
  EXPECT_EQ(ProgramName("TensorFlow", "a_inference_step_13__XlaMustCompile_true.1"), "step");
  EXPECT_EQ(ProgramName("TensorFlow", "a_inference_step_534__.6"), "step");
  EXPECT_EQ(ProgramKey("PyTorch/XLA", "SyncTensorsGraph.9"),
            ProgramKey("PyTorch/XLA", "SyncTensorsGraph.12"));
}

}  // namespace
}  // namespace hloscope::debug
