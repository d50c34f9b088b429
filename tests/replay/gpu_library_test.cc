// The platform gpu with NVIDIA's libraries, made-up ones over the made-up driver: how it is chosen
// between them and our own kernels, every way to be refused, and nothing left behind.
#include "core/backends/libraries/library.h"
#include "core/backends/make_platform.h"
#include "core/replay/run_targets.h"
#include "tests/base/paths.h"
#include "tests/base/scratch.h"
#include "tests/replay/gpu_library_runs.h"

namespace hloscope::replay {
namespace {

using libraries::DeviceLibrary;
using libraries::Library;

TEST(GpuLibraries, OurOwnKernelConvolvesWhereCudnnRefuses) {
  const ConvolutionCase each = ConvolutionCases()[0];
  const std::string text = ConvolutionText(each);
  const std::vector<Literal> inputs = {Numbers(each.input), Numbers(each.filter)};
  for (const auto& [faults, reason] : {
           std::pair("cudnnCreate=1001", "cuDNN: not initialised: starting it failed"),
           std::pair("cudnnCreate=1008", "cuDNN: cannot be loaded: starting it failed"),
           std::pair("cudnnBackendFinalize:3=3003", "cuDNN: not supported: describing a tensor"),
           std::pair("cudnn.engines=0", "no engine of it has the same bits in every run"),
           std::pair("cudnn.engines=1", "no engine of it has the same bits in every run"),
           std::pair("cudnn.plan=3002", "cuDNN: not supported: planning a convolution failed"),
           std::pair("cudnnBackendExecute=5000", "cuDNN: launch failure: convolving failed with"),
           std::pair("cudnn.major=8", "cuDNN: version mismatch: it is 8.0.0, 9.0 or newer"),
       }) {
    SetLibraryFaults(faults);
    // What was loaded of another version is known by its folder.
    if (std::string_view(faults).starts_with("cudnn.major")) {
      setenv("LD_LIBRARY_PATH", (FakeDriverFolder() + "/").c_str(), 1);
    }
    const Outcome gpu = RunOn("gpu", text.c_str(), inputs, 3);
    const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
    ASSERT_FALSE(gpu.error.has_value()) << faults << gpu.error->ToString();
    EXPECT_TRUE(std::ranges::equal(gpu.results[0].bytes(), meant.results[0].bytes())) << faults;
    EXPECT_EQ(gpu.executed.library_calls, 0) << faults;
    ExpectChoice(gpu, "cuDNN", reason, faults);
    ExpectNothingLeft(faults);
  }
}

// A handle takes long to make and keeps memory: a second one is not asked for.
TEST(GpuLibraries, InstructionsShareTheHandleOfTheirLibrary) {
  const ConvolutionCase each = ConvolutionCases()[0];
  std::string text = ConvolutionText(each);
  const size_t root = text.find("  ROOT r");
  std::string again = text.substr(root, text.find('\n', root) - root);
  const auto replace = [](std::string& in, std::string_view from, std::string_view to) {
    in.replace(in.find(from), from.size(), to);
  };
  replace(text, "  ROOT r", "  r");
  replace(again, "  ROOT r", "  s");
  replace(again, "(a, b)", "(n, b)");
  replace(
      text, "\n}",
      fmt::format("\n  n = {} negate(a)\n{}\n  ROOT t = ({}, {}) tuple(r, s)\n}}",
                  text.substr(text.find("a = ") + 4, text.find(" convert") - text.find("a = ") - 4),
                  again, each.out, each.out));
  const std::vector<Literal> inputs = {Numbers(each.input), Numbers(each.filter)};
  SetLibraryFaults("cudnnCreate:2=1001");
  const Outcome gpu = RunOn("gpu", text.c_str(), inputs, 2);
  ASSERT_FALSE(gpu.error.has_value()) << gpu.error->ToString() << text;
  EXPECT_EQ(gpu.executed.library_calls, 2);
  ExpectNothingLeft("two convolutions");
}

struct RefusalRow {
  bool is_dot;
  const char *faults, *reason;
};
constexpr RefusalRow kRefusals[] = {
    {true, "cublasLtCreate=1",
     "cuBLASLt: not initialised: starting it failed with CUBLAS_STATUS_NOT_INITIALIZED (1) (fix: "},
    {true, "cublasLtCreate=3", "cuBLASLt: not enough memory: starting it"},
    {true, "cublasLtMatmulDescCreate=7", "cuBLASLt: refused by the library: describing a product"},
    {true, "cublasLtMatrixLayoutCreate:2=3", "cuBLASLt: not enough memory: describing a matrix"},
    {true, "cublasLtMatmulPreferenceCreate=3", "choosing an algorithm failed with"},
    {true, "cublasLtMatmulAlgoGetHeuristic=15", "cuBLASLt: not supported: choosing an algorithm"},
    {true, "cublasLtMatmulAlgoGetHeuristic=8", "cuBLASLt: device capability too low"},
    {true, "cublasLt.algorithms=0", "cuBLASLt: not supported: it has no algorithm"},
    {true, "cublasLtMatmul=13",
     "cuBLASLt: launch failure: multiplying failed with CUBLAS_STATUS_EXECUTION_FAILED (13)"},
    {true, "cublasLtMatmul=77", "cuBLASLt: refused by the library: multiplying failed with 77"},
    {false, "cufftCreate=7", "cuFFT: not initialised: starting it failed with CUFFT_SETUP_FAILED"},
    {false, "cufftMakePlanMany64=8", "cuFFT: not supported: planning a transform"},
    {false, "cufftMakePlanMany64=2", "cuFFT: not enough memory: planning a transform"},
    {false, "cufftSetWorkArea=13", "cuFFT: no workspace: taking memory failed"},
    {false, "cufftExecC2C=6", "cuFFT: launch failure: transforming failed"},
};

TEST(GpuLibraries, OurOwnKernelRunsWhereALibraryRefuses) {
  const DotCase dot = DotCases()[0];
  const std::string product = DotModule(dot.left, dot.right, dot.out, dot.type, dot.attributes);
  const std::vector<Literal> factors = {Numbers(dot.left_sizes), Numbers(dot.right_sizes)},
                             array = {Numbers({40, 45})};
  for (const RefusalRow& row : kRefusals) {
    SetLibraryFaults(row.faults);
    const std::string text = row.is_dot ? product : std::string(kTransforms[0]);
    const auto& inputs = row.is_dot ? factors : array;
    const Outcome gpu = RunOn("gpu", text.c_str(), inputs, 3);
    ASSERT_FALSE(gpu.error.has_value()) << row.faults << gpu.error->ToString();
    const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
    if (row.is_dot) {
      EXPECT_TRUE(std::ranges::equal(gpu.results[0].bytes(), meant.results[0].bytes()))
          << row.faults;
    } else {
      EXPECT_LT(Distance(gpu.results[0], meant.results[0]), 2e-6) << row.faults;
    }
    EXPECT_EQ(gpu.executed.library_calls, 0) << row.faults;
    EXPECT_TRUE(gpu.fallbacks.empty()) << row.faults;
    ExpectChoice(gpu, row.is_dot ? "cuBLASLt" : "cuFFT", row.reason, row.faults);
    ExpectNothingLeft(row.faults);
  }
}

// A library that refuses while launches are recorded spoils the recording, not the run.
TEST(GpuLibraries, WhatCannotBeRecordedIsLaunchedOneByOne) {
  const DotCase dot = DotCases()[0];
  const std::string text = DotModule(dot.left, dot.right, dot.out, dot.type, dot.attributes);
  const std::vector<Literal> inputs = {Numbers(dot.left_sizes), Numbers(dot.right_sizes)};
  SetLibraryFaults("");
  const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
  SetLibraryFaults("cublasLt.waits=1");
  const Outcome gpu = RunOn("gpu", text.c_str(), inputs, 4);
  ASSERT_FALSE(gpu.error.has_value()) << gpu.error->ToString();
  EXPECT_TRUE(std::ranges::equal(gpu.results[0].bytes(), meant.results[0].bytes()));
  ExpectChoice(gpu, "cuBLASLt", "", "recording");
  SetLibraryFaults("cublasLtMatmul:2=15");  // the second run's: it is recorded
  const Outcome later = RunOn("gpu", text.c_str(), inputs, 4);
  ASSERT_FALSE(later.error.has_value()) << later.error->ToString();
  EXPECT_TRUE(std::ranges::equal(later.results[0].bytes(), meant.results[0].bytes()));
  ExpectChoice(later, "cuBLASLt", "not supported", "second run");
}

TEST(GpuLibraries, TheirKernelsAreRecordedButNotCounted) {
  SetLibraryFaults("");
  const DotCase dot = DotCases()[0];
  const std::string text = DotModule(dot.left, dot.right, dot.out, dot.type, dot.attributes);
  const std::vector<Literal> inputs = {Numbers(dot.left_sizes), Numbers(dot.right_sizes)};
  RunOptions options;
  options.record.steps = 1 << 16;
  options.record.kernel_metrics = true;
  const auto loaded = (*MakePlatform("gpu"))->Load(hlo::Parsed(text.c_str()), options);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().ToString();
  for (int run = 0; run < 3; ++run) {
    Events events;
    ASSERT_TRUE((*loaded)->Run({&inputs, 1}, options, events).has_value());
    const auto traces = events.Of<TraceFile>();
    ASSERT_EQ(traces.size(), 1u);
    EXPECT_NE(traces[0]->bytes.find("fake_product"), std::string::npos) << run;
    EXPECT_NE(traces[0]->bytes.find("kernels of NVIDIA's libraries among ours are not counted"),
              std::string::npos)
        << run;
  }
}

TEST(GpuLibraries, RulesAndFlagsLeaveLibrariesOut) {
  SetLibraryFaults("");
  const DotCase dot = DotCases()[0];
  const std::string text = DotModule(dot.left, dot.right, dot.out, dot.type, dot.attributes);
  RunOptions options;
  options.platform.xla_flags = {{std::string(kDisablePassesFlag), "cublaslt,cufft"}};
  const Outcome left_out =
      RunOn("gpu", text.c_str(), {Numbers(dot.left_sizes), Numbers(dot.right_sizes)}, 1, options);
  ASSERT_FALSE(left_out.error.has_value()) << left_out.error->ToString();
  ExpectChoice(left_out, "cuBLASLt", "cuBLASLt is left out by a flag", "flag");
  EXPECT_EQ(left_out.executed.kernels, 1);

  const std::string small = DotModule("[8,8]", "[8,8]", "f32[8,8]", "f32", dot.attributes);
  ExpectChoice(RunOn("gpu", small.c_str(), {Numbers({8, 8}), Numbers({8, 8})}), "cuBLASLt",
               "so small", "small");
  const std::string other = DotModule("[64,72]", "[72,80]", "f32[64,80]", "f16", dot.attributes);
  std::string odd = other;
  odd.replace(odd.find("b = f16"), 7, "b = f32");
  ExpectChoice(RunOn("gpu", odd.c_str(), {Numbers({64, 72}), Numbers({72, 80})}), "cuBLASLt",
               "no product of f16 and f32", "types");
  const char* const back = R"(HloModule m
ENTRY e {
  p = f32[64,33] parameter(0)
  c = c64[64,33] complex(p, p)
  ROOT r = f32[64,64] fft(c), fft_type=IRFFT, fft_length={64}
}
)";
  ExpectChoice(RunOn("gpu", back, {Numbers({64, 33})}), "cuFFT", "not Hermitian", "inverse");
  options.platform.xla_flags[0].second = "cublas_lt";
  const Outcome wrong =
      RunOn("gpu", text.c_str(), {Numbers(dot.left_sizes), Numbers(dot.right_sizes)}, 1, options);
  ASSERT_TRUE(wrong.error.has_value());
  EXPECT_NE(wrong.error->message.find("there is no pass `cublas_lt`"), std::string::npos);
}

TEST(GpuLibraries, FilesThatAreNoneAreNamed) {
  const Scratch scratch;
  SetLibraryFaults("cublasLt.major=11");
  const auto load = [](DeviceLibrary library, const std::string& file) {
    return Library::LoadFirst(libraries::RowOf(library), std::vector{file}, "the fix");
  };
  const struct {
    DeviceLibrary library;
    std::string file, message;
  } rows[] = {
      {DeviceLibrary::kCufft, "libnowhere.so.99", "cuFFT: no library: libnowhere.so.99: cannot"},
      {DeviceLibrary::kCufft, scratch.Write("libcufft.so.12", "text"), "cuFFT: cannot be loaded: "},
      {DeviceLibrary::kCufft, FakeDriverFolder() + "/libcupti.so.13",
       "cuFFT: version mismatch: it has no cufftCreate, 11.0 or newer is needed: "},
      {DeviceLibrary::kCublasLt, FakeDriverFolder() + "/libcublasLt.so.13",
       "cuBLASLt: version mismatch: it is 11.0.0, 12.0 or newer is needed: "},
  };
  for (const auto& row : rows) {
    const auto loaded = load(row.library, row.file);
    ASSERT_FALSE(loaded.has_value()) << row.message;
    EXPECT_TRUE(loaded.error().message.starts_with(row.message)) << loaded.error().message;
    EXPECT_EQ(loaded.error().hint, "the fix");
  }
  // One that cannot be loaded hides none that can.
  SetLibraryFaults("");
  const auto loaded = Library::LoadFirst(
      libraries::RowOf(DeviceLibrary::kCufft),
      std::vector{scratch.Path("libcufft.so.12"), FakeDriverFolder() + "/libcufft.so.12"}, "");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ((*loaded)->version(), "12.0.0");
  // Nor one that is another library or too old.
  const std::string other = FakeDriverFolder() + "/libcupti.so.13";
  const auto second =
      Library::LoadFirst(libraries::RowOf(DeviceLibrary::kCufft),
                         std::vector{other, FakeDriverFolder() + "/libcufft.so.12"}, "");
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ((*second)->version(), "12.0.0");
  // Where none can be used, the first says why.
  const auto none = Library::LoadFirst(libraries::RowOf(DeviceLibrary::kCufft),
                                       std::vector{other, std::string("libnowhere.so.99")}, "fix");
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find("it has no cufftCreate"), std::string::npos);
}

}  // namespace
}  // namespace hloscope::replay
