// What XLA:GPU's runtime does, read from dumps: launches, where arrays lie, what is copied.
#include "core/backends/gpusim/device_program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/backends/gpusim/check_program.h"
#include "core/backends/gpusim/loaded_program.h"
#include "core/backends/gpusim/tensor_maps.h"
#include "core/base/work_count.h"
#include "tests/base/paths.h"

namespace hloscope::replay {
namespace {

DeviceProgram ReadSample(const std::string& name) {
  const auto dump = dump::DumpModel::Open(SourcePath("samples/") + name, Limits());
  EXPECT_TRUE(dump.has_value());
  auto program = ReadDeviceProgram(**dump, 0);
  EXPECT_TRUE(program.has_value()) << program.error().ToString();
  return *std::move(program);
}

const DeviceStep* Find(const DeviceProgram& program, std::string_view instruction) {
  for (const auto& sequence : program.sequences) {
    for (const DeviceStep& step : sequence) {
      if (program.module->name(step.id) == instruction) return &step;
    }
  }
  return nullptr;
}

TEST(DeviceProgramTest, EveryKernelIsLaunchedWithItsSizeAndItsSlices) {
  const DeviceProgram program = ReadSample("attention_block_h100");
  EXPECT_EQ(program.kernels, 14);
  EXPECT_EQ(program.code.size(), 14u);
  std::set<std::string> kernels;
  for (const DeviceStep& step : program.sequences[0]) {
    if (step.kind == DeviceStepKind::kNothing) continue;
    EXPECT_EQ(step.kind, DeviceStepKind::kKernels) << program.module->name(step.id);
    for (const KernelLaunch& launch : step.launches) {
      kernels.insert(launch.kernel);
      EXPECT_GT(launch.threads[0], 1);
      EXPECT_GE(launch.shared_bytes, 0);
      EXPECT_NE(program.code[static_cast<size_t>(launch.code)].text.find(".entry " + launch.kernel),
                std::string::npos);
    }
    EXPECT_TRUE(std::ranges::all_of(step.operands, &Slice::known));
    EXPECT_TRUE(std::ranges::all_of(step.results, &Slice::known));
  }
  EXPECT_EQ(kernels.size(), 14u);
}

TEST(DeviceProgramTest, NamesOfOtherValuesLieWhereTheseLie) {
  const DeviceProgram program = ReadSample("gpt_train_step_h100");
  const hlo::Module& module = *program.module;
  EXPECT_EQ(program.parameters.size(), module.Parameters(module.entry_id()).size());
  EXPECT_EQ(program.results.size(), module.shape(module.entry().root).LeafCount());
  EXPECT_TRUE(std::ranges::all_of(program.results, &Slice::known));
}

// A step that only names values again has the slices of its result alone: of N elements of a loop's
// state N, not N².
TEST(DeviceProgramTest, NamesOfOtherValuesHoldNoOperands) {
  const DeviceProgram program = ReadSample("gpt_train_step_h100");
  size_t names = 0;
  for (const auto& sequence : program.sequences) {
    for (const DeviceStep& step : sequence) {
      if (step.kind != DeviceStepKind::kNothing) continue;
      ++names;
      EXPECT_TRUE(step.operands.empty()) << program.module->name(step.id);
      EXPECT_EQ(step.results.size(), program.module->shape(step.id).LeafCount());
    }
  }
  EXPECT_GT(names, 10u);
}

TEST(DeviceProgramTest, ASliceThatTheDriverCopiesHasNoKernel) {
  const DeviceProgram program = ReadSample("gpt_train_step_h100");
  const DeviceStep* const step = Find(program, "wrapped_slice.1");
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->kind, DeviceStepKind::kCopy);
  EXPECT_TRUE(step->launches.empty());
}

TEST(DeviceProgramTest, ADumpWithoutABufferAssignmentSaysWhatIsMissing) {
  const auto dump = dump::DumpModel::Open(
      SourcePath("samples/softmax_passes_a100/module_0000.jit_softmax.before_optimizations.txt"),
      Limits());
  ASSERT_TRUE(dump.has_value());
  const auto program = ReadDeviceProgram(**dump, 0);
  ASSERT_FALSE(program.has_value());
  EXPECT_NE(program.error().message.find("no buffer assignment"), std::string::npos);
  EXPECT_FALSE(program.error().hint.empty());
}

// 30 computations that each call the next one twice are 2^30 of them.
TEST(DeviceProgramTest, CallsThatComeToTooManyStepsAreRefused) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / fmt::format("many_calls_{}", getpid());
  fs::create_directories(folder);
  const std::string name = "module_0000.jit_softmax.sm_8.0_gpu_after_optimizations";
  const std::string assignment = name + "-buffer-assignment.txt";
  fs::copy_file(SourcePath("samples/softmax_passes_a100/" + assignment), folder / assignment);
  std::string text =
      "HloModule jit_softmax, is_scheduled=true\n"
      "c0 { x0 = f32[4] parameter(0) ROOT y0 = f32[4] negate(x0) }\n";
  for (int i = 1; i <= 30; ++i) {
    text += fmt::format(
        "{0} {{ x{1} = f32[4] parameter(0) m{1} = f32[4] call(x{1}), to_apply=c{2} "
        "ROOT y{1} = f32[4] call(m{1}), to_apply=c{2} }}\n",
        i == 30 ? "ENTRY e" : fmt::format("c{}", i), i, i - 1);
  }
  std::ofstream(folder / (name + ".txt")) << text;
  const auto dump = dump::DumpModel::Open(folder, Limits());
  ASSERT_TRUE(dump.has_value());
  const auto program = ReadDeviceProgram(**dump, 0);
  fs::remove_all(folder);
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().error_class, ErrorClass::kUnsupported);
  EXPECT_EQ(program.error().message, "calls, loops and branches have too many steps");
}

// Of a tuple of n elements each element that is taken had the slices of all.
TEST(DeviceProgramTest, WorkGrowsAsTheElementsOfATuple) {
  namespace fs = std::filesystem;
  const auto work = [](int elements) {
    std::string shape, taken, names;
    std::string assignment = "BufferAssignment:\n";
    for (int k = 0; k < elements; ++k) {
      shape += k == 0 ? "f32[4]{0}" : ", f32[4]{0}";
      taken += fmt::format("  g{0} = f32[4]{{0}} get-tuple-element(p), index={0}\n", k);
      names += fmt::format("{}g{}", k == 0 ? "" : ", ", k);
      assignment += fmt::format(
          "allocation {0}: size 16, parameter 0, shape |f32[4]| at ShapeIndex {{{0}}}:\n"
          " value: <{0} p{{{0}}} @0> (size=16,offset=0): f32[4]{{0}}\n",
          k);
    }
    const fs::path folder = fs::path(testing::TempDir()) / fmt::format("elements_{}", getpid());
    fs::create_directories(folder);
    const std::string name = "module_0000.m.sm_8.0_gpu_after_optimizations";
    std::ofstream(folder / (name + "-buffer-assignment.txt")) << assignment;
    std::ofstream(folder / (name + ".txt")) << fmt::format(
        "HloModule m, is_scheduled=true\n\nENTRY e {{\n  p = ({0}) parameter(0)\n{1}"
        "  ROOT r = ({0}) tuple({2})\n}}\n",
        shape, taken, names);
    const auto dump = dump::DumpModel::Open(folder, Limits());
    EXPECT_TRUE(dump.has_value());
    const uint64_t before = WorkCount();
    const auto program = ReadDeviceProgram(**dump, 0);
    EXPECT_TRUE(program.has_value()) << program.error().ToString();
    fs::remove_all(folder);
    return static_cast<double>(WorkCount() - before);
  };
  const double one = work(100), two = work(200), four = work(400);
  EXPECT_GE(one, 300);
  EXPECT_LT(four - two, 2.7 * (two - one));
}

TEST(DeviceProgramTest, KernelsTakeOperandsAndResultsOrEachSliceOnceOrResultsAlone) {
  const Slice a{0, 0, 64}, b{0, 64, 64}, c{1, 0, 64};
  DeviceStep step;
  step.operands = {a, b, a};
  step.results = {a, c};
  EXPECT_EQ(*ArgumentsOf(step, 5), (std::vector<Slice>{a, b, a, a, c}));
  EXPECT_EQ(*ArgumentsOf(step, 3), (std::vector<Slice>{a, b, c}));
  EXPECT_EQ(*ArgumentsOf(step, 2), (std::vector<Slice>{a, c}));
  const auto other = ArgumentsOf(step, 4);
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().message.find("4 arguments"), std::string::npos);
}

TEST(DeviceProgramTest, UntrustedBufferAssignmentsAreCheckedBeforeTheRun) {
  const auto refused = [](DeviceProgram program) {
    const Status status = CheckProgram(program);
    return status.has_value() ? std::string() : status.error().message;
  };
  const DeviceProgram sound = ReadSample("softmax_passes_a100");
  EXPECT_EQ(refused(sound), "");
  DeviceProgram broken = sound;
  broken.allocations[0] = -1;
  EXPECT_NE(refused(broken).find("an allocation of -1 bytes"), std::string::npos);
  broken = sound;
  broken.parameters[0].offset = 1 << 20;
  EXPECT_NE(refused(broken).find("at 1048576 + "), std::string::npos);
  broken = sound;
  broken.results[0].bytes = 4;  // fewer than its shape takes
  EXPECT_NE(refused(broken).find("+ 4 bytes"), std::string::npos);
  broken = sound;
  for (auto& step : broken.sequences[0]) {
    for (KernelLaunch& launch : step.launches) launch.threads = {int64_t{1} << 32, 1, 1};
  }
  EXPECT_NE(refused(broken).find("which no GPU allows"), std::string::npos);
}

dump::TiledFunction ReadKernelTiles(const std::string& name) {
  const auto file = FileView::Open(SourcePath("tests/ptx/kernels/") + name, Limits());
  EXPECT_TRUE(file.has_value());
  auto tiles = dump::ReadTiles(file->bytes(), name);
  EXPECT_TRUE(tiles.has_value()) << tiles.error().ToString();
  return *std::move(tiles);
}

void ExpectMap(const dump::TiledFunction& tiles, size_t argument, const ptx::TensorMap& want) {
  const auto map = TensorMapOf(tiles, argument);
  ASSERT_TRUE(map.has_value()) << map.error().ToString();
  EXPECT_EQ(map->element_bytes, want.element_bytes);
  EXPECT_EQ(map->sizes, want.sizes);
  EXPECT_EQ(map->strides, want.strides);
  EXPECT_EQ(map->box, want.box);
  EXPECT_EQ(map->steps, want.steps);
  EXPECT_EQ(map->swizzle, want.swizzle) << argument;
}

// With these maps tests/ptx/gemm_test.cc gets the right product.
TEST(TensorMapTest, DerivesMapsFromTritonIrTiles) {
  const dump::TiledFunction wide = ReadKernelTiles("warp_specialized_b200.ttir.txt");
  EXPECT_EQ(wide.name, "gemm_fusion_dot_general_1");
  ASSERT_EQ(wide.arguments.size(), 3u);
  ExpectMap(wide, 0, {2, {128, 128}, {256}, {64, 64}, {1, 1}, ptx::Swizzle::k128});
  ExpectMap(wide, 1, {2, {64, 128}, {128}, {32, 64}, {1, 1}, ptx::Swizzle::k64});
  ExpectMap(wide, 2, {4, {64, 128}, {256}, {32, 64}, {1, 1}, ptx::Swizzle::k128});
  // An array that lies the other way round.
  const dump::TiledFunction narrow = ReadKernelTiles("f8_h100.ttir.txt");
  EXPECT_EQ(narrow.arguments[1].minor_to_major, (std::vector<int64_t>{0, 1}));
  ExpectMap(narrow, 0, {1, {128, 128}, {128}, {64, 64}, {1, 1}, ptx::Swizzle::k64});
  ExpectMap(narrow, 1, {1, {64, 128}, {64}, {32, 64}, {1, 1}, ptx::Swizzle::k32});
}

// A wide tile is copied in parts of its swizzle; a vector has no swizzle; of one element every
// other.
TEST(TensorMapTest, BoxesAndSteps) {
  const std::string text =
      "  xtile.entry_func @k(%arg0: memref<4x64x256xbf16>, %arg1: memref<256xf32>, %arg2: "
      "memref<64x64xi4>, %arg3: index) attributes {num_opaque_args = 0 : i32} {\n"
      "    %1 = xtile.extract %arg0[%0, %c0, %2] [1, 64, 128] [1, 2, 1] : memref<…>\n"
      "    %2 = xtile.extract %arg1[%0] [128] [1] : memref<256xf32> -> tensor<128xf32>\n"
      "    xtile.insert %2 into %arg2[%0, %c0] [64, 64] [1, 1] : …\n";
  const auto tiles = dump::ReadTiles(text, "k.ttir.txt");
  ASSERT_TRUE(tiles.has_value()) << tiles.error().ToString();
  ExpectMap(*tiles, 0,
            {2, {256, 64, 4}, {512, 32768}, {64, 128, 1}, {1, 2, 1}, ptx::Swizzle::k128});
  ExpectMap(*tiles, 1, {4, {256}, {}, {128}, {1}, ptx::Swizzle::kNone});
  const auto refused = TensorMapOf(*tiles, 2);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "kernel k takes a tensor map as parameter 2; its Triton IR gives it a type that is not "
            "known");
}

TEST(TensorMapTest, BrokenTritonIrIsPlaced) {
  const auto why = [](const std::string& text) {
    const auto tiles = dump::ReadTiles(text, "k.ttir.txt");
    return tiles.has_value() ? std::string("read") : tiles.error().ToString();
  };
  const std::string fix = " (expected Triton IR as XLA has written it since the end of 2025)";
  EXPECT_EQ(why(""), "k.ttir.txt: no xtile.entry_func" + fix);
  EXPECT_EQ(why("xtile.entry_func @k(%arg0: memref<4x"),
            "k.ttir.txt:1: argument 0 is not a memref" + fix);
  const std::string entry = "xtile.entry_func @k(%arg0: memref<4x4xf32>, %arg1: index) {\n";
  EXPECT_EQ(why(entry + "%0 = xtile.extract %arg0[%1, %2] [4] [1] : "),
            "k.ttir.txt:2: a tile of other dimensions than its array" + fix);
  EXPECT_EQ(why(entry + "%0 = xtile.extract %arg0[%1, %2] [4, x] [1, 1] : "),
            "k.ttir.txt:2: a tile that is not [offsets] [sizes] [strides]" + fix);
}

}  // namespace
}  // namespace hloscope::replay
