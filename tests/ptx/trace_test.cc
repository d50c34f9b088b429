// Traces: values, where they came from, memory and who wrote it, windows of steps, refusals.
#include "core/ptx/trace/trace.h"

#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

struct Traced {
  std::vector<std::byte> memory[3];
  BlockTrace trace;
};

Traced TraceKernel(const std::string& body, TraceRequest request, uint32_t threads = 64) {
  Traced traced;
  for (auto& memory : traced.memory) memory.resize(1024, std::byte{1});
  const auto module = Module::Parse(KernelText(body), "k.ptx");
  EXPECT_TRUE(module.has_value()) << (module.has_value() ? "" : module.error().ToString());
  if (!module.has_value()) return traced;
  LaunchRequest launch;
  launch.entry = "k";
  launch.block = {threads, 1, 1};
  for (auto& memory : traced.memory) launch.arguments.push_back({memory, {}});
  auto trace = Trace(*module, launch, request);
  EXPECT_TRUE(trace.has_value()) << (trace.has_value() ? "" : trace.error().ToString());
  if (trace.has_value()) traced.trace = *std::move(trace);
  return traced;
}

// The step of the first thread whose text begins so.
const TracedStep* StepThat(const BlockTrace& trace, std::string_view begins, size_t thread = 0) {
  for (const TracedStep& step : trace.threads[thread].steps) {
    if (trace.instructions[step.instruction].text.starts_with(begins)) return &step;
  }
  ADD_FAILURE() << begins;
  return nullptr;
}

// Each thread adds 5 to its number, thread i takes the sum of i ^ 1 by a shuffle, and stores it to
// shared memory, where its mirror image finds it.
const std::string kBody =
    "add.s32 %r2, %r1, 5;\nshfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\nmov.b32 %r5, sh;\n"
    "shl.b32 %r6, %r1, 2;\nadd.s32 %r7, %r5, %r6;\nst.shared.b32 [%r7], %r3;\nbar.sync 0;\n"
    "sub.s32 %r8, 252, %r6;\nadd.s32 %r9, %r5, %r8;\nld.shared.b32 %r4, [%r9];\n"
    "setp.lt.u32 %p1, %r1, 1000;\nadd.s64 %rd7, %rd3, %rd4;\n@%p1 st.global.b32 [%rd7], %r4;";

TEST(PtxTrace, ValuesAndWhereTheyCameFrom) {
  const Traced traced = TraceKernel(kBody, {.block = {}, .threads = {3, 2, 60}});
  const BlockTrace& trace = traced.trace;
  ASSERT_EQ(trace.threads.size(), 3u);
  EXPECT_FALSE(trace.fault.has_value());
  const TracedStep* const add = StepThat(trace, "add.s32 %r2");
  ASSERT_NE(add, nullptr);
  const auto values = trace.ValuesOf(trace.threads[0], *add);
  EXPECT_EQ(values[0].bits, 8u);
  EXPECT_EQ(values[1].bits, 3u);
  EXPECT_EQ(trace.instructions[trace.threads[0].at(values[1].from.step).instruction].text,
            "mov.u32 %r1, %tid.x");
  EXPECT_EQ(StepText(trace, trace.threads[0], *add),
            "%r2 = 8 (0x00000008); from %r1 = 3 (0x00000003)");
  const TracedStep* const shuffle = StepThat(trace, "shfl");
  const TracedValue& shuffled = trace.ValuesOf(trace.threads[0], *shuffle)[0];
  EXPECT_EQ(shuffled.bits, 7u);
  EXPECT_EQ(shuffled.from.thread, 2);
  const ThreadTrace* const peer = trace.Find(2);
  ASSERT_TRUE(peer != nullptr && peer->Has(shuffled.from.step));
  EXPECT_EQ(peer->at(shuffled.from.step).instruction, shuffle->instruction);
}

TEST(PtxTrace, MemoryAndWhoWroteIt) {
  const Traced traced = TraceKernel(kBody, {.block = {}, .threads = {3, 60}});
  const BlockTrace& trace = traced.trace;
  const ThreadTrace& thread = trace.threads[0];
  const TracedStep* const load = StepThat(trace, "ld.shared");
  ASSERT_NE(load, nullptr);
  ASSERT_EQ(load->accesses, 1u);
  const TracedAccess& access = thread.AccessesOf(*load)[0];
  EXPECT_EQ(access.space, TracedSpace::kShared);
  EXPECT_EQ(access.offset, 240u);
  EXPECT_EQ(access.from.thread, 60);
  ASSERT_TRUE(trace.Find(60)->Has(access.from.step));
  EXPECT_EQ(trace.instructions[trace.Find(60)->at(access.from.step).instruction].text,
            "st.shared.b32 [%r7], %r3");
  const TracedStep* const store = StepThat(trace, "@%p1 st.global");
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(StepText(trace, thread, *store),
            "from %rd7 = 1236950581260 (0x000001200000000c), %r4 = 66 (0x00000042), %p1 = true; "
            "writes 4 bytes of argument 2 at 12");
  uint32_t written;
  std::memcpy(&written, thread.BytesOf(thread.AccessesOf(*store)[0]).data(), 4);
  EXPECT_EQ(written, 66u);
}

TEST(PtxTrace, AWindowOfSteps) {
  const Traced all = TraceKernel(kBody, {.block = {}, .threads = {3}});
  const Traced some = TraceKernel(kBody, {.block = {}, .threads = {3}, .first = 4, .most = 3});
  const ThreadTrace& thread = some.trace.threads[0];
  ASSERT_EQ(thread.steps.size(), 3u);
  EXPECT_EQ(thread.executed, static_cast<int64_t>(all.trace.threads[0].steps.size()));
  EXPECT_FALSE(thread.Has(3));
  EXPECT_EQ(thread.at(5).instruction, all.trace.threads[0].at(5).instruction);
  EXPECT_EQ(some.trace.ValuesOf(thread, thread.at(5))[1].from.step,
            all.trace.ValuesOf(all.trace.threads[0], all.trace.threads[0].at(5))[1].from.step);
}

TEST(PtxTrace, AnUnknownThreadIsAnErrorWithTheRange) {
  const auto module = Module::Parse(KernelText(kBody), "k.ptx");
  ASSERT_TRUE(module.has_value());
  LaunchRequest launch;
  launch.entry = "k";
  launch.block = {64, 1, 1};
  launch.arguments.resize(3);
  const auto trace = Trace(*module, launch, {.block = {}, .threads = {64}});
  ASSERT_FALSE(trace.has_value());
  EXPECT_EQ(trace.error().message, "kernel k has no thread 64 in a block");
}

TEST(PtxTrace, ValuesInTheirTypes) {
  EXPECT_EQ(ValueText(0x3fc00000, 4, "f32"), "1.5 (0x3fc00000)");
  EXPECT_EQ(ValueText(0xffffffff, 4, "f32"), "nan (0xffffffff)");
  EXPECT_EQ(ValueText(0xfffffffd, 4, "s32"), "-3 (0xfffffffd)");
  EXPECT_EQ(ValueText(0x3fc0, 2, "bf16"), "1.5 (0x3fc0)");
  EXPECT_EQ(ValueText(0x3c003e00, 4, "f16x2"), "{1.5, 1} (0x3c003e00)");
  EXPECT_EQ(ValueText(1, 0, "pred"), "true");
}

}  // namespace
}  // namespace hloscope::ptx
