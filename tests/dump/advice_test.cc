// What is advised, by framework and version, and what a run had already.
#include "core/dump/advice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "core/dump/dump_model.h"
#include "tests/base/paths.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;

std::string TextOf(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(AdviceTest, WhatFailedIsNotAdvised) {
  const auto judge = JudgeAdvice("--xla_dump_hlo_snapshots", "TensorFlow", "2.21.0");
  EXPECT_EQ(judge.state, AdviceState::kFails);
  EXPECT_TRUE(judge.note.starts_with("--xla_dump_hlo_snapshots crashes TensorFlow 2.21"));
  EXPECT_EQ(JudgeAdvice("--xla_dump_buffer_assignment_analysis", "TensorFlow", "").state,
            AdviceState::kFails);
  EXPECT_EQ(JudgeAdvice("--xla_dump_hlo_snapshots", "JAX", "0.10.2").state, AdviceState::kTried);
  // Another patch of the same minor version is the same; others were not tried.
  EXPECT_EQ(JudgeAdvice("--xla_dump_hlo_snapshots", "JAX", "0.10.9").state, AdviceState::kTried);
  const auto old = JudgeAdvice("--xla_dump_hlo_snapshots", "JAX", "0.1.2");
  EXPECT_EQ(old.state, AdviceState::kUntried);
  EXPECT_EQ(old.note, "untried with JAX 0.1.2");
  EXPECT_EQ(JudgeAdvice("--xla_dump_hlo_snapshots", "EXLA", "1").state, AdviceState::kTried);
  // A change of the program is one too, and no record tells that it was made.
  const char* jit = "add --tf_xla_cpu_global_jit to TF_XLA_FLAGS, or tf.function(jit_compile=True)";
  EXPECT_EQ(JudgeAdvice(jit, "TensorFlow", "2.21.0").state, AdviceState::kTried);
  EXPECT_EQ(JudgeAdvice(jit, "TensorFlow", "2.1.0").note, "untried with TensorFlow 2.1.0");
  EXPECT_FALSE(WasFollowed("tf.function(jit_compile=True)", RunRecord()));
}

// Every flag in a text of advice can be tried.
TEST(AdviceTest, EveryAdvisedFlagHasARow) {
  std::set<std::string> known;
  const std::string rows = TextOf(SourcePath("core/dump/advice.def"));
  const std::regex row("ADVICE\\(\"([^\"]+)\"");
  for (std::sregex_iterator at(rows.begin(), rows.end(), row), end; at != end; ++at)
    known.insert((*at)[1]);
  EXPECT_GT(known.size(), 20U);
  const std::regex flag("--(tf_)?xla_[a-z_]+[a-z]");
  for (const char* file :
       {"core/dump/missing.cc", "core/dump/tensorflow/tensorflow_reasons.def",
        "core/dump/errors/error_texts.def", "core/dump/errors/xla_texts.def",
        "core/dump/errors/status_texts.def", "core/dump/errors/check_evidence.cc",
        "core/debug/recompile/recompile_reasons.def", "app/commands/command_record.cc"}) {
    const std::string text = TextOf(SourcePath(file));
    ASSERT_FALSE(text.empty()) << file;
    for (std::sregex_iterator at(text.begin(), text.end(), flag), end; at != end; ++at)
      EXPECT_TRUE(known.contains(at->str())) << at->str() << " in " << file;
  }
}

// So can every call and argument, but for those that a fix only mentions.
TEST(AdviceTest, EveryAdvisedChangeHasARow) {
  std::set<std::string> known = {"compile_ops=False", "tf.cond",     "tf.contrib.compiler.xla",
                                 "tf.range",          "tf.reshape",  "tf.shape",
                                 "tf.tile",           "tf.function", "tf.tpu.outside_compilation"};
  known.insert("torch_xla.runtime.initialize_cache");  // advises to leave it out
  const std::string rows = TextOf(SourcePath("core/dump/advice.def"));
  const std::regex row("ADVICE\\(\"([^\"]+)\"");
  for (std::sregex_iterator at(rows.begin(), rows.end(), row), end; at != end; ++at)
    known.insert((*at)[1]);
  const std::regex change(
      "\\b(tf|torch_xla|torch|xm|xr|model)(\\.[A-Za-z_][A-Za-z_0-9]*)+|"
      "\\b(jit_compile|drop_last|drop_remainder|reduce_retracing|run_eagerly)=(True|False)|"
      "\\binput_signature\\b");
  // The last text of a row is the fix; of recompilations the last two are.
  for (const auto& [file, count] : {std::pair("core/dump/tensorflow/tensorflow_reasons.def", 1),
                                    std::pair("core/dump/errors/error_texts.def", 1),
                                    std::pair("core/dump/errors/xla_texts.def", 1),
                                    std::pair("core/debug/recompile/torch_causes.def", 1),
                                    std::pair("core/debug/recompile/recompile_reasons.def", 2)}) {
    std::istringstream lines(TextOf(SourcePath(file)));
    int found = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("//")) continue;
      size_t from = line.size();
      for (int k = 0; k < count && from != std::string::npos; ++k)
        from = line.rfind(", \"", from == 0 ? 0 : from - 1);
      if (from == std::string::npos) continue;
      const std::string fix = line.substr(from);
      for (std::sregex_iterator at(fix.begin(), fix.end(), change), end; at != end; ++at) {
        ++found;
        EXPECT_TRUE(known.contains(at->str())) << at->str() << " in " << file << ": " << fix;
      }
    }
    EXPECT_GT(found, 1) << file;
  }
}

class RecordedDump : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void Record(const std::string& framework, const std::string& version, const std::string& flags,
              int exit = 0) {
    std::ofstream(folder_ / kRecordFile)
        << "{\"framework\":\"" << framework << "\",\"version\":\"" << version
        << "\",\"exit\":" << exit << ",\"environment\":{\"XLA_FLAGS\":\"" << flags << "\"}}\n";
  }
  // That piece of the dump; its flag is "?" where the dump does not lack it.
  MissingPiece Missing(std::string_view what) {
    auto model = DumpModel::Open(folder_.string(), Limits());
    if (!model) return {-1, "", model.error().ToString(), "?"};
    for (const MissingPiece& piece : (*model)->missing()) {
      if (piece.what == what) return piece;
    }
    return {-1, "", "", "?"};
  }
  void Module(const std::string& name) {
    std::ofstream(folder_ / ("module_0001." + name + ".cpu_after_optimizations.txt"))
        << "HloModule " << name << "\n\nENTRY main {\n  ROOT x = f32[4] parameter(0)\n}\n";
  }
  const fs::path folder_ = fs::temp_directory_path() / "hloscope_advice_test";
};

TEST_F(RecordedDump, ModulesOfOneNameAreToldApart) {
  for (const char* module : {"module_0001.jit_g", "module_0002.jit_g", "module_0003.jit_h"}) {
    for (const char* stage : {"before_optimizations", "cpu_after_optimizations"}) {
      const bool is_h = std::string_view(module).ends_with("h");
      if (!is_h && std::string_view(stage).starts_with("before")) continue;
      std::ofstream(folder_ / fmt::format("{}.{}.txt", module, stage))
          << "HloModule m\n\nENTRY main {\n  ROOT x = f32[4] parameter(0)\n}\n";
    }
  }
  const auto model = DumpModel::Open(folder_.string(), Limits());
  ASSERT_TRUE(model.has_value());
  std::set<std::string> told;
  for (const MissingPiece& piece : (*model)->missing()) {
    EXPECT_TRUE(told.insert(piece.ToString()).second) << piece.ToString();
    EXPECT_TRUE(piece.module < 0 || piece.ToString().contains(" of module_000"))
        << piece.ToString();
  }
  EXPECT_TRUE(std::ranges::any_of(
      told, [](const std::string& text) { return text.contains(" of module_0002.jit_g: "); }));
}

TEST_F(RecordedDump, FlagsAreForItsFramework) {
  Module("a_inference_f_3__XlaMustCompile_true.1");
  Record("TensorFlow", "2.21.0", "--xla_dump_to=/d");
  EXPECT_EQ(Missing("snapshots").flag, "");
  EXPECT_NE(Missing("snapshots").why.find("crashes TensorFlow 2.21"), std::string::npos);
  EXPECT_EQ(Missing("live ranges").flag, "");
  EXPECT_EQ(Missing("passes").flag, "--xla_dump_hlo_pass_re=.*");
  // What the run had is not advised again.
  Record("TensorFlow", "2.21.0", "--xla_dump_to=/d --xla_dump_hlo_pass_re=.*");
  EXPECT_EQ(Missing("passes").flag, "");
  EXPECT_NE(Missing("passes").why.find("the run had --xla_dump_hlo_pass_re"), std::string::npos);
  Record("TensorFlow", "2.21.0",
         "--xla_dump_to=/d --xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_proto=false");
  EXPECT_EQ(Missing(".hlo.pb").flag, "--xla_dump_hlo_as_proto");
  Record("TensorFlow", "1.99.0", "--xla_dump_to=/d");
  EXPECT_NE(Missing("passes").why.find("untried with TensorFlow 1.99.0"), std::string::npos);
}

// XLA writes these with texts only, whatever else is asked for.
TEST_F(RecordedDump, WhatIsWrittenBesideTextsNeedsTexts) {
  Module("m");
  EXPECT_EQ(Missing("buffer assignment").flag, "--xla_dump_to=DIR");
  fs::remove(folder_ / "module_0001.m.cpu_after_optimizations.txt");
  fs::copy_file(SourcePath("samples/conv_net/module_0000.jit_conv_net.cpu_after_optimizations"
                           ".hlo.pb"),
                folder_ / "module_0001.m.cpu_after_optimizations.hlo.pb");
  EXPECT_EQ(Missing("buffer assignment").flag, "--xla_dump_hlo_as_text");
  EXPECT_EQ(Missing("live ranges").flag, "--xla_dump_hlo_as_text");
  EXPECT_EQ(Missing(".hlo.pb").flag, "?");
}

// Up to its ending, so that those of one stem can be told apart.
TEST_F(RecordedDump, ABundleHasTheNameOfItsFile) {
  const fs::path bundle = folder_ / "bug.again.hlob";
  fs::copy_file(SourcePath("samples/faults/divided_by_power.hlob"), bundle);
  const auto model = DumpModel::Open(bundle.string(), Limits());
  ASSERT_TRUE(model.has_value()) << model.error().ToString();
  ASSERT_EQ((*model)->modules().size(), 1u);
  EXPECT_EQ((*model)->modules()[0].name, "bug.again");
}

// As TensorFlow 2.21 and PyTorch/XLA 2.9 write it, without a file of live ranges.
TEST_F(RecordedDump, LiveRangesAfterTheAssignment) {
  Module("a_inference_f_3__XlaMustCompile_true.1");
  const std::string assignment =
      "BufferAssignment:\nallocation 0: size 16, parameter 0, shape |f32[4]| at ShapeIndex {}:\n"
      " value: <0 x @0> (size=16,offset=0): f32[4]{0}\n\n"
      "Total bytes used: 16 (16B)\n\nUsed values:\n<0 x @0>\n positions:\n  x\n uses:\n"
      " from instruction: %x = f32[4] parameter(0)\n\n\n";
  auto write = [&](const std::string& text) {
    std::ofstream(folder_ /
                  "module_0001.a_inference_f_3__XlaMustCompile_true.1."
                  "cpu_after_optimizations-buffer-assignment.txt")
        << text;
  };
  auto peak = [&]() -> int64_t {
    auto model = DumpModel::Open(folder_.string(), Limits());
    return model ? (*(*model)->Buffers(0))->live_peak_bytes : -2;
  };
  write(assignment);
  EXPECT_NE(Missing("live ranges").flag, "?");
  EXPECT_EQ(peak(), -1);
  write(assignment +
        "HloLiveRange (max 1):\n  InstructionSequence:\n    0:x\n  BufferLiveRange:\n"
        "    x{}:0-1\n  Live ranges at 0 (peak):\n    x{}: 16 bytes (cumulative: 16 bytes)\n");
  EXPECT_EQ(Missing("live ranges").flag, "?");
  EXPECT_EQ(peak(), 16);
}

TEST_F(RecordedDump, ARunThatCompiledNothing) {
  EXPECT_EQ(Missing("modules").flag, "XLA_FLAGS=--xla_dump_to=DIR");
  Record("TensorFlow", "2.21.0", "--xla_dump_to=/d", 1);
  EXPECT_EQ(Missing("modules").flag, "");
  EXPECT_EQ(Missing("modules").why, "the program ended with exit status 1 before XLA compiled one");
  Record("TensorFlow", "2.21.0", "--xla_mine");
  EXPECT_EQ(Missing("modules").flag, "XLA_FLAGS=--xla_dump_to=DIR");
}

}  // namespace
}  // namespace hloscope::dump
