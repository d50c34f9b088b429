// One number for one thing: panels against each other and against the counts of `info --json`, in
// every sample.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/graph/overview.h"
#include "tests/base/thorough.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/answers.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/facts/module_facts.h"
#include "viewer/facts/pass_ranking.h"
#include "viewer/facts/selection_summary.h"
#include "viewer/model/number_text.h"

namespace hloscope::viewer {
namespace {

class FiguresTest : public ReadingTest {};

TEST_F(FiguresTest, KernelsAreLaunchesOnEveryScreen) {
  int compared = 0;
  for (const auto& sample : std::filesystem::directory_iterator(Sample(""))) {
    if (!sample.is_directory() || sample.path().filename() == "faults") continue;
    SCOPED_TRACE(sample.path().filename());
    // Of its files alone, without the trace that is next to them.
    const std::string folder = Scratch(sample.path().filename().string());
    std::filesystem::create_directories(folder);
    for (const auto& file : std::filesystem::directory_iterator(sample)) {
      if (file.path().string().find("xplane") == std::string::npos)
        std::filesystem::copy(file.path(), folder, std::filesystem::copy_options::recursive);
    }
    auto dump = dump::DumpModel::Open(folder, Limits{});
    ASSERT_TRUE(dump);
    const int32_t last = (*dump)->FinalStage(0);
    if (last < 0) continue;
    const auto first = (*dump)->Module(0, 0), compiled = (*dump)->Module(0, last);
    ASSERT_TRUE(first && compiled);
    // What `info --json` prints as `overview`.
    const graph::Overview overview =
        graph::MakeOverview(**first, **compiled, analysis::PlacementIn(**dump, 0, **compiled));
    int64_t all = 0;
    for (const int64_t count : overview.lanes) all += count;
    Start({folder});
    Press("Ctrl+2");
    Settle();
    // What is on the host has a colour of its own.
    const std::string sentence = graph::ToSentence(overview);
    ExpectSeen("graph", sentence.substr(0, sentence.rfind(" → ")));
    Press("Ctrl+5");
    Settle();
    ASSERT_TRUE(DrawUntil([this] {
      return KernelSheetOf(session()) != nullptr && KernelSheetOf(session())->ready();
    }));
    std::set<uint32_t> rows;
    for (const KernelRow& row : (*KernelSheetOf(session()))->rows) {
      EXPECT_TRUE(!row.instruction.valid() || rows.insert(row.instruction.index).second)
          << row.name;
    }
    EXPECT_EQ(static_cast<int64_t>(rows.size()), all) << graph::ToSentence(overview);
    const Pending<ModuleFacts>& home = FactsOf(session(), 0);
    ASSERT_TRUE(DrawUntil([&] { return home.ready(); }));
    EXPECT_EQ(home->kernels, overview.lanes[static_cast<size_t>(graph::Lane::kKernels)]);
    Stop();
    ++compared;
  }
  EXPECT_GE(compared, 8);
}

constexpr const char* kOfCorpus[] = {"gpu/convnet_f32",
                                     "gpu/gemm_bf16_bias_gelu",
                                     "gpu/layernorm_bf16",
                                     "gpu/softmax_f32",
                                     "gpu/transformer_bf16",
                                     "gpu/while_newton",
                                     "jax/control_flow_nested",
                                     "jax/lstm_scan",
                                     "jax/passes_small_attention",
                                     "jax/pure_callback_host",
                                     "jax/spmd_megatron_mlp_2x2",
                                     "jax/transformer_adam_step",
                                     "reactant/reactant_matmul_column_major",
                                     "tensorflow/keras_fit_jit",
                                     "torch_xla/torch_cnn_train_step"};

// The same numbers on Home, Graph, Kernels, Memory and Selection, and in `info --json`.
class FiguresOfPanels : public FiguresTest {
 protected:
  static std::vector<std::string> Dumps() {
    std::vector<std::string> dumps;
    for (const auto& sample : std::filesystem::directory_iterator(Sample(""))) {
      if (sample.is_directory() && sample.path().filename() != "faults")
        dumps.push_back(sample.path());
    }
    std::ranges::sort(dumps);
    const char* corpus = std::getenv("HLOSCOPE_CORPUS");
    const std::string folder = corpus == nullptr ? SourcePath("../shared/corpus") : corpus;
    for (const char* name : kOfCorpus) {
      std::string path = folder + "/" + name;
      if (!IsThorough() || !std::filesystem::exists(path)) continue;
      if (std::filesystem::exists(path + "/dump")) path += "/dump";
      dumps.push_back(path);
    }
    return dumps;
  }
  nlohmann::json Info(const std::string& path) {
    const std::string out = Scratch("info.json");
    const std::string line = ProgramPath() + " info '" + path + "' --json > '" + out + "'";
    EXPECT_EQ(std::system(line.c_str()), 0);
    std::ifstream file(out);
    std::string text;
    std::getline(file, text);
    return nlohmann::json::parse(text);
  }
  void ExpectHome(const nlohmann::json& info, int32_t m) {
    const Pending<ModuleFacts>& home = FactsOf(session(), m);
    ASSERT_TRUE(DrawUntil([&] { return home.ready(); }));
    const nlohmann::json& last = info["stages"].back();
    EXPECT_EQ(home->instructions, last["instructions"]);
    // One stage alone is not what another was made of.
    if (info["stages"].size() > 1) {
      EXPECT_EQ(home->instructions_before, info["stages"][0]["instructions"]);
    }
    EXPECT_EQ(home->fusions, last["fusions"]);
    const auto known = [&](const char* key) {
      return info[key].is_null() ? -1 : info[key].get<int64_t>();
    };
    EXPECT_EQ(home->memory_bytes, known("peak_bytes"));
    EXPECT_EQ(home->live_peak_bytes, known("live_peak_bytes"));
    EXPECT_EQ(std::max<int64_t>(home->thunks, 0), std::ssize(info["thunks"]));
    const nlohmann::json& overview = info["overview"];
    if (!home->compiled || !overview.contains("kernels")) return;
    EXPECT_EQ(home->kernels, overview["kernels"]);
    const nlohmann::json& placement = info["placement"];
    EXPECT_EQ(home->transfer_count, std::ssize(placement["transfers"]));
    int64_t moved = 0;
    for (const ModuleFacts::Transfer& transfer : home->transfers)
      moved += std::max<int64_t>(transfer.total(), 0);
    if (home->transfer_count == std::ssize(home->transfers)) {
      EXPECT_EQ(moved, placement["bytes"]);
    }
    for (const auto& [place, key] :
         {std::pair(analysis::Place::kLibraryCall, "library_call"),
          std::pair(analysis::Place::kCopy, "copy"), std::pair(analysis::Place::kHost, "host"),
          std::pair(analysis::Place::kNoCode, "no_code"),
          std::pair(analysis::Place::kInKernel, "in_kernel")})
      EXPECT_EQ(home->places[static_cast<size_t>(place)], placement[key]) << key;
  }
  void ExpectKernels(const nlohmann::json& info) {
    Press("Ctrl+5");
    ASSERT_TRUE(DrawUntil([this] {
      return KernelSheetOf(session()) != nullptr && KernelSheetOf(session())->ready();
    }));
    int64_t rows = 0;
    std::set<uint32_t> seen;
    for (const KernelRow& row : (*KernelSheetOf(session()))->rows)
      rows += row.instruction.valid() && seen.insert(row.instruction.index).second ? 1 : 0;
    int64_t lanes = 0;
    for (int lane = 0; lane < graph::kLaneCount; ++lane) {
      const std::string key(graph::KeyOf(static_cast<graph::Lane>(lane)));
      lanes += info["overview"].value(key, int64_t{0});
    }
    // A trace may have events of what only calls others.
    const bool has_times = (*KernelSheetOf(session()))->has_times;
    EXPECT_TRUE(has_times ? rows >= lanes : rows == lanes) << rows << " rows, " << lanes;
  }
  void ExpectMemory(const nlohmann::json& info, int32_t m) {
    if (info["peak_bytes"].is_null()) return;
    Press("Ctrl+6");
    const Pending<dump::BufferTable>& table = session().data.Buffers(m);
    ASSERT_TRUE(DrawUntil([&] { return table.ready(); }));
    EXPECT_EQ(table->total_bytes, info["peak_bytes"]);
    if (!table->has_values()) return;
    EXPECT_EQ(std::ssize(table->allocations), info["buffers"]);
    Settle();
    ExpectSeen("memory", BytesText(table->total_bytes) + " total");
    const std::string panel = HighlightedItems("memory");
    if (!info["live_peak_bytes"].is_null()) {
      EXPECT_TRUE(
          panel.starts_with(fmt::format("peak {} ", info["live_peak_bytes"].get<int64_t>())))
          << panel << info["live_peak_bytes"];
      const Answer* answer = AnswerTo(session(), Question::kPeak, true);
      ASSERT_TRUE(DrawUntil([&] {
        answer = AnswerTo(session(), Question::kPeak, true);
        return answer != nullptr;
      }));
      EXPECT_NE(answer->text.find(BytesText(info["live_peak_bytes"].get<int64_t>())),
                std::string::npos)
          << answer->text;
    }
  }
  // The kernel that the pictures show first, in Selection as in `info`.
  void ExpectSelection(const nlohmann::json& info, int32_t m) {
    session().navigation.Select(Selection::OfStage(m, session().document.dump()->FinalStage(m)));
    Settle();
    bool is_said = false;
    const std::string count =
        CountedText(info["stages"].back()["instructions"].get<int64_t>(), "instruction") + " in ";
    for (const SummaryLine& line : SummarizeSelection(session()))
      is_said |= line.text.starts_with(count);
    EXPECT_TRUE(is_said) << count;
  }
};

TEST_F(FiguresOfPanels, AreThoseOfInfo) {
  int compared = 0;
  for (const std::string& path : Dumps()) {
    SCOPED_TRACE(path);
    const nlohmann::json dump = Info(path);
    Start({path});
    const auto count = static_cast<int32_t>(std::min<size_t>(dump["modules"].size(), 4));
    for (int32_t m = 0; m < count; ++m) {
      const nlohmann::json& info = dump["modules"][static_cast<size_t>(m)];
      SCOPED_TRACE(info["name"]);
      if (session().document.dump()->FinalStage(m) < 0 || info["stages"].empty()) continue;
      session().navigation.Select(Selection::OfModule(m));
      Settle();
      ExpectHome(info, m);
      if (!info["overview"].is_null() && info["overview"].value("kernels", int64_t{-1}) >= 0) {
        Press("Ctrl+2");
        Settle();
        const std::string sentence = info["overview"]["sentence"];
        ExpectSeen("graph", sentence.substr(0, sentence.rfind(" → ")));
        ExpectKernels(info);
      }
      ExpectMemory(info, m);
      ExpectSelection(info, m);
      ++compared;
    }
    Stop();
  }
  EXPECT_GE(compared, 9);
}

// XLA writes the module at the start of a nested pipeline: what changed until then was the pass
// that runs it.
TEST_F(FiguresTest, APassIsCreditedWithWhatItDidUpToANestedPipeline) {
  dump::ModuleEntry entry;
  const auto add = [&](std::string pipeline, std::string pass) {
    entry.stages.push_back(
        {.name = pipeline + pass, .pipeline = pipeline, .pass = pass, .files = {}});
  };
  add("", "");
  add("spmd-partitioner", "pipeline-start");
  add("spmd-partitioner", "sharding-propagation");
  add("spmd-cleanup", "pipeline-start");  // 3: the partitioner's own work
  add("spmd-cleanup", "dce");
  add("spmd-partitioner", "spmd-partitioning");
  add("optimization", "pipeline-start");  // 6: no pass is running
  add("optimization", "algsimp");
  add("", "");
  entry.stages.back().name = "after_optimizations";
  EXPECT_EQ(PassName(entry, 3), "spmd-partitioning (up to spmd-cleanup)");
  EXPECT_EQ(PassName(entry, 4), "dce");
  EXPECT_EQ(PassName(entry, 6), "start of pipeline optimization");
  EXPECT_TRUE(IsMadeByPass(entry, 3));
  EXPECT_FALSE(IsMadeByPass(entry, 6));
  EXPECT_FALSE(IsMadeByPass(entry, 8));
}

// Adam's moments in the sample are `mean` and `square` next to `params`.
TEST_F(FiguresTest, OptimiserStateIsRecognised) {
  Start({Sample("gpt_train_step_h100")});
  Press("Ctrl+6");
  Settle();
  ExpectSeen("memory", "optimiser state");
}

}  // namespace
}  // namespace hloscope::viewer
