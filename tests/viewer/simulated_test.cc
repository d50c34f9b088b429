// Runs on the simulated GPU on the screens: counts of launches, the model beside them, threads step
// by step.
#include <filesystem>

#include "core/debug/run/run_module.h"
#include "core/debug/run/run_recorder.h"
#include "core/replay/platform_table.h"
#include "tests/viewer/viewer_fixture.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/model/dump_data.h"

namespace hloscope::viewer {
namespace {

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class SimulatedTest : public ViewerTest {
 protected:
  // The profile of a run of the kernels in a dump.
  std::string ProfileOfRun(const std::string& sample) {
    const auto dump = *dump::DumpModel::Open(Sample(sample), Limits());
    const int32_t stage = dump->FinalStage(0);
    debug::RunRequest request;
    request.platform = replay::PlatformWith(replay::kRunsDumps)->name;
    request.module_file = dump->FullPath(dump->ModuleFile(0, stage));
    debug::RunRecorder recorder;
    request.recorder = &recorder;
    const debug::RunReport report = debug::RunModule(*dump->Module(0, stage), request);
    EXPECT_FALSE(report.error.has_value()) << report.error->ToString();
    Jobs jobs(1);
    const auto profile = recorder.Finish(jobs);
    EXPECT_TRUE(profile.has_value());
    const std::string path = Scratch("run.hloprof");
    EXPECT_TRUE(profiler::WriteProfile({**profile, nullptr, path}).has_value());
    return path;
  }
};

TEST_F(SimulatedTest, KernelsHaveWhatTheirLaunchesDid) {
  const std::string path = ProfileOfRun("attention_block_h100");
  Start({Sample("attention_block_h100"), path});
  Press("Ctrl+5");
  const Pending<KernelSheet>* pending = KernelSheetOf(session());
  ASSERT_TRUE(pending != nullptr && pending->ready());
  const KernelSheet& sheet = **pending;
  EXPECT_TRUE(sheet.is_simulated);
  ASSERT_FALSE(sheet.notes.empty());
  EXPECT_TRUE(Has(sheet.notes.front(), "not of a GPU")) << sheet.notes.front();
  EXPECT_TRUE(Has(sheet.notes.front(), "NVIDIA H100")) << sheet.notes.front();
  int64_t launches = 0;
  double last = 1e300, sum = 0;
  for (const KernelRow& row : sheet.rows) {
    launches += row.sums.launches;
    EXPECT_LE(row.sums.model_us, last) << row.name << ": longest by the model first";
    last = row.sums.model_us;
    sum += row.sums.model_us;
  }
  EXPECT_EQ(launches, 14);
  EXPECT_DOUBLE_EQ(sum, sheet.model_us);
  const auto gemm = std::ranges::find(sheet.rows, "gemm_fusion_dot.3", &KernelRow::name);
  ASSERT_NE(gemm, sheet.rows.end());
  EXPECT_GT(gemm->sums.figures.products(), 0u);
  EXPECT_TRUE(Has(LaunchText(*gemm), "products of tensor cores")) << LaunchText(*gemm);
  EXPECT_TRUE(Has(Lit("roofline"), "points ")) << Lit("roofline");
}

}  // namespace
}  // namespace hloscope::viewer
