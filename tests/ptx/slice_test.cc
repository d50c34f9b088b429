// Slices: values, what decides about them, and what is done in place of a store.
#include "core/ptx/trace/slice.h"

#include <algorithm>
#include <map>

#include "core/ptx/trace/doubled_terms.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

struct Sliced {
  SlicedTrace traced;
  // The texts of the steps, each once, in order.
  std::vector<std::string> Texts(bool control) const {
    std::vector<std::string> texts;
    for (const SliceStep& step : traced.slice.steps) {
      const TracedStep& at = traced.trace.Find(step.step.thread)->at(step.step.step);
      const std::string& text = traced.trace.instructions[at.instruction].text;
      if (step.control == control && std::ranges::find(texts, text) == texts.end())
        texts.push_back(text);
    }
    return texts;
  }
  bool Has(const std::string& text, bool control) const {
    const auto texts = Texts(control);
    return std::ranges::find(texts, text) != texts.end();
  }
};

// Of word `word` of argument 2, as `thread` stores it.
Sliced SliceOf(const std::string& body, uint32_t word, uint32_t thread, bool is_missing = false,
               size_t most_threads = 64, size_t most_unlike = 0) {
  Sliced sliced;
  std::vector<std::byte> memory[3];
  for (auto& bytes : memory) bytes.resize(1024, std::byte{1});
  const auto module = Module::Parse(KernelText(body), "k.ptx");
  EXPECT_TRUE(module.has_value()) << (module.has_value() ? "" : module.error().ToString());
  if (!module.has_value()) return sliced;
  LaunchRequest launch;
  launch.entry = "k";
  launch.block = {64, 1, 1};
  for (auto& bytes : memory) launch.arguments.push_back({bytes, {}});
  auto traced = TraceSlice(
      *module, launch, {{}, thread, 2, 4 * word, is_missing}, {}, [] {}, most_threads, most_unlike);
  EXPECT_TRUE(traced.has_value()) << (traced.has_value() ? "" : traced.error().ToString());
  if (traced.has_value()) sliced.traced = *std::move(traced);
  return sliced;
}

const std::string kAddress = "add.s64 %rd7, %rd3, %rd4;\n";
const std::string kStore = kAddress + "st.global.b32 [%rd7], %r4;";

TEST(PtxSlice, ABranchPastAWriteDecidesWhichValueIsThere) {
  // Thread 3 goes past the second write, thread 40 through it.
  const std::string body =
      "setp.lt.u32 %p1, %r1, 32;\nmov.b32 %r4, 7;\n@%p1 bra L;\nmov.b32 %r4, 8;\nL:\n" + kStore;
  const Sliced past = SliceOf(body, 3, 3);
  EXPECT_TRUE(past.Has("mov.b32 %r4, 7", false));
  EXPECT_TRUE(past.Has("@%p1 bra L", true));
  EXPECT_TRUE(past.Has("setp.lt.u32 %p1, %r1, 32", true));
  const Sliced through = SliceOf(body, 40, 40);
  EXPECT_FALSE(through.Has("mov.b32 %r4, 7", false));
  EXPECT_TRUE(through.Has("mov.b32 %r4, 8", false));
  EXPECT_TRUE(through.Has("@%p1 bra L", true));
  EXPECT_TRUE(through.traced.slice.complete);
}

TEST(PtxSlice, OmitsBranchesWithoutInfluence) {
  const Sliced sliced = SliceOf(
      "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra L;\nmov.b32 %r9, 8;\nL:\nadd.s32 %r4, %r1, 5;\n" +
          kStore,
      3, 3);
  EXPECT_EQ(sliced.Texts(true), std::vector<std::string>());
  EXPECT_EQ(sliced.traced.slice.steps.back().step.step, sliced.traced.begins[0].step);
}

TEST(PtxSlice, AGuardThatHeldAWriteBackIsNamedWithIt) {
  const Sliced sliced = SliceOf(
      "setp.lt.u32 %p1, %r1, 2;\nmov.b32 %r4, 7;\n@%p1 add.s32 %r4, %r1, 5;\n" + kStore, 3, 3);
  EXPECT_TRUE(sliced.Has("@%p1 add.s32 %r4, %r1, 5", true));
  EXPECT_TRUE(sliced.Has("setp.lt.u32 %p1, %r1, 2", true));
  EXPECT_TRUE(sliced.Has("mov.b32 %r4, 7", false));
}

TEST(PtxSlice, ALoopsConditionDecidesHowOftenItIsGoneThrough) {
  const Sliced sliced = SliceOf(
      "mov.b32 %r4, 0;\nmov.b32 %r5, 0;\nL:\nadd.s32 %r4, %r4, %r1;\nadd.s32 %r5, %r5, 1;\n"
      "setp.lt.u32 %p1, %r5, 40;\n@%p1 bra L;\n" +
          kStore,
      3, 3);
  EXPECT_TRUE(sliced.Has("setp.lt.u32 %p1, %r5, 40", true));
  EXPECT_TRUE(sliced.Has("mov.b32 %r5, 0", true));  // forty turns before
  EXPECT_TRUE(sliced.Has("mov.b32 %r4, 0", false));
  EXPECT_TRUE(sliced.traced.slice.complete);
  EXPECT_TRUE(sliced.traced.slice.shortened);
}

TEST(PtxSlice, StepsFollowTheirOperands) {
  const Sliced sliced = SliceOf(
      "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\nmov.b32 %r5, sh;\nshl.b32 %r6, %r1, 2;\n"
      "add.s32 %r7, %r5, %r6;\nst.shared.b32 [%r7], %r3;\nbar.sync 0;\nsub.s32 %r8, 252, %r6;\n"
      "add.s32 %r9, %r5, %r8;\nld.shared.b32 %r4, [%r9];\n" +
          kStore,
      3, 3);
  EXPECT_TRUE(sliced.Has("shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1", false));
  const auto& steps = sliced.traced.slice.steps;
  ASSERT_GT(steps.size(), 8u);
  for (size_t i = 0; i < steps.size(); ++i) {
    const TracedStep& at = sliced.traced.trace.Find(steps[i].step.thread)->at(steps[i].step.step);
    const bool shuffles = sliced.traced.trace.instructions[at.instruction].opcode == "shfl";
    for (const uint32_t need : steps[i].needs) EXPECT_TRUE(need < i || shuffles);
  }
}

TEST(PtxSlice, OfAStoreThatWasNotMadeTheGuardOrTheJumpIsNamed) {
  const Sliced guarded = SliceOf(
      "setp.lt.u32 %p1, %r1, 2;\nmov.b32 %r4, 7;\n" + kAddress + "@%p1 st.global.b32 [%rd7], %r4;",
      3, 3, true);
  EXPECT_TRUE(guarded.Has("@%p1 st.global.b32 [%rd7], %r4", false));
  EXPECT_TRUE(guarded.Has("setp.lt.u32 %p1, %r1, 2", true));
  // A jump that has lost its guard: nothing leads to the store any more.
  const Sliced jumped =
      SliceOf("setp.lt.u32 %p1, %r1, 2;\nbra L;\n" + kStore + "\nL:\n", 3, 3, true);
  EXPECT_TRUE(jumped.Has("bra L", false));
}

// Word %r1 of shared memory is at %r7, word %r1 ^ 32 at %r9; of others than 32 threads %p1 is
// false.
const std::string kShared =
    "setp.lt.u32 %p1, %r1, 32;\nmov.b32 %r5, sh;\nshl.b32 %r6, %r1, 2;\nadd.s32 %r7, %r5, %r6;\n"
    "xor.b32 %r8, %r6, 128;\nadd.s32 %r9, %r5, %r8;\n";

TEST(PtxSlice, WhatNoThreadThatIsTracedDidIsTracedInOneThatDid) {
  const std::string store = "st.shared.b32 [%r7], %r1";
  const std::string body = kShared + "@%p1 bra L;\n" + store +
                           ";\nL:\nbar.sync 0;\nld.shared.b32 %r4, [%r9];\n" + kStore;
  EXPECT_TRUE(SliceOf(body, 3, 3).Has(store, false));
  EXPECT_FALSE(SliceOf(body, 3, 3, false, 1).Has(store, true));
  const Sliced sliced = SliceOf(body, 3, 3, false, 1, 1);
  EXPECT_TRUE(sliced.Has(store, false) || sliced.Has(store, true));
  EXPECT_EQ(sliced.traced.trace.threads.size(), 2u);
}

TEST(PtxSlice, OfABranchTheStoresThatItLedPastAreNamed) {
  // Another word than the one that is read.
  const std::string store = "st.shared.b32 [%r7+512], %r1";
  const std::string body = kShared + "st.shared.b32 [%r7], %r1;\nmov.b32 %r10, 0;\n@%p1 bra L;\n" +
                           store +
                           ";\nmov.b32 %r10, 9;\nL:\nbar.sync 0;\nld.shared.b32 %r11, [%r9];\n"
                           "add.s32 %r4, %r10, %r11;\n" +
                           kStore;
  // All threads that it comes from are known: the store is not among what they did.
  EXPECT_FALSE(SliceOf(body, 3, 3, false, 64, 1).Has(store, true));
  EXPECT_FALSE(SliceOf(body, 3, 3, false, 1, 0).Has(store, true));
  const Sliced sliced = SliceOf(body, 3, 3, false, 1, 1);
  EXPECT_TRUE(sliced.Has(store, true));
  EXPECT_TRUE(sliced.Has("@%p1 bra L", true));
}

// Of the lines that sums with doubled terms name, by text: steps back; -1: not named.
std::map<std::string, int> Doubled(const std::string& body, const std::vector<std::string>& texts) {
  const Sliced sliced = SliceOf(body, 3, 3);
  const auto lines = LinesOfDoubledTerms(sliced.traced.trace, sliced.traced.begins);
  std::map<std::string, int> found;
  for (const std::string& text : texts) {
    for (const TracedInstruction& in : sliced.traced.trace.instructions) {
      if (in.text != text) continue;
      const auto at = lines.find(in.line);
      found[text] = at == lines.end() ? -1 : static_cast<int>(at->second);
    }
  }
  if (lines.empty()) found["none"] = 0;
  return found;
}

std::string Shuffled(std::initializer_list<int> distances) {
  std::string body = "add.s64 %rd5, %rd1, %rd4;\nld.global.b32 %r4, [%rd5];\n";
  int i = 10;
  for (const int distance : distances) {
    const std::string next = std::to_string(i++);
    body += "shfl.sync.bfly.b32 %r" + next + ", %r4, " + std::to_string(distance) +
            ", 31, -1;\nadd.rn.f32 %r4, %r4, %r" + next + ";\n";
  }
  return body + kStore;
}

TEST(PtxSlice, ASumThatTakesATermTwiceIsNamed) {
  using Named = std::map<std::string, int>;
  EXPECT_EQ(Doubled(Shuffled({16, 8, 4, 2, 1}), {}), (Named{{"none", 0}}));
  const std::string wrong = "shfl.sync.bfly.b32 %r10, %r4, 8, 31, -1",
                    sum = "add.rn.f32 %r4, %r4, %r11", later = "add.rn.f32 %r4, %r4, %r12";
  EXPECT_EQ(Doubled(Shuffled({8, 8, 4, 2, 1}), {wrong, sum, later}),
            (Named{{wrong, 1}, {sum, 0}, {later, -1}}));
  const auto loads = [](int offset) {
    return "add.s64 %rd5, %rd1, %rd4;\nld.global.b32 %r5, [%rd5];\nld.global.b32 %r6, [%rd5+4];\n"
           "ld.global.b32 %r7, [%rd5+" +
           std::to_string(offset) + "];\nadd.rn.f32 %r8, %r5, %r6;\nadd.rn.f32 %r4, %r8, %r7;\n" +
           kStore;
  };
  EXPECT_EQ(Doubled(loads(8), {}), (Named{{"none", 0}}));
  const std::string load = "ld.global.b32 %r7, [%rd5+4]", first = "ld.global.b32 %r5, [%rd5]";
  EXPECT_EQ(Doubled(loads(4), {load, first}), (Named{{load, 1}, {first, 2}}));
}

TEST(PtxSlice, AStoreMayGoThroughAnotherArgumentThatHoldsTheSameMemory) {
  std::vector<std::byte> memory(1024), other(1024);
  const auto module =
      Module::Parse(KernelText("add.s64 %rd7, %rd2, %rd4;\nst.global.b32 [%rd7], %r1;"), "k.ptx");
  ASSERT_TRUE(module.has_value());
  LaunchRequest launch;
  launch.entry = "k";
  launch.block = {64, 1, 1};
  launch.arguments = {{other, {}}, {memory, {}}, {std::span(memory).subspan(8), {}}};
  const auto traced = TraceSlice(*module, launch, {{}, 5, 2, 12, false}, {}, [] {});
  ASSERT_TRUE(traced.has_value());
  EXPECT_EQ(traced->begins.size(), 1u);
}

TEST(PtxSlice, FindsTheNearestStoreOfAnUnwrittenByte) {
  std::vector<std::byte> memory[3];
  for (auto& bytes : memory) bytes.resize(1024);
  const auto nearest = [&](const std::string& body, uint64_t word) {
    const auto module = Module::Parse(KernelText(body), "k.ptx");
    EXPECT_TRUE(module.has_value());
    LaunchRequest launch;
    launch.entry = "k";
    launch.block = {64, 1, 1};
    for (auto& bytes : memory) launch.arguments.push_back({bytes, {}});
    const auto found = FindNearestStore(*module, launch, 2, 4 * word);
    EXPECT_TRUE(found.has_value());
    return found.has_value() ? found->thread[0] : 999;
  };
  // Everyone stores one word further than it should.
  EXPECT_EQ(nearest(kAddress + "st.global.b32 [%rd7+4], %r1;", 0), 0u);
  EXPECT_EQ(nearest(kAddress + "st.global.b32 [%rd7+4], %r1;", 70), 63u);
  // Its guard keeps the very thread from it.
  EXPECT_EQ(nearest("setp.lt.u32 %p1, %r1, 2;\n" + kAddress + "@%p1 st.global.b32 [%rd7], %r1;", 9),
            9u);
}

}  // namespace
}  // namespace hloscope::ptx
